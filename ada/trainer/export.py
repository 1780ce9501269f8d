"""The actor's weights as a Hugging Face folder, which transformers and vLLM load."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import torch
import torch.distributed as dist
from huggingface_hub import save_torch_state_dict

WEIGHT_FILES = (".safetensors", ".bin", ".pt", ".pth", ".gguf", ".msgpack", ".h5", ".index.json")


def save_hf(folder: Path, source: Path, weights: Iterator[tuple[str, torch.Tensor]]) -> None:
    """Rank 0 writes the weights as safetensors (a tied head once) beside config, tokenizer and templates from `source`.

    Collective, but the other ranks do not wait for the writing: where it fails, rank 0 alone knows.
    """
    writer = dist.get_rank() == 0
    state: dict[str, torch.Tensor] = {}
    for name, weight in weights:  # all ranks: gathering a layer takes everyone
        if writer:
            state[name] = weight.to("cpu", copy=True).contiguous()
    if writer:
        folder.mkdir(parents=True, exist_ok=True)
        for file in sorted(source.iterdir()):
            if file.is_file() and not file.name.endswith(WEIGHT_FILES):
                shutil.copy(file, folder / file.name)
        config = json.loads((folder / "config.json").read_text())
        config.pop("torch_dtype", None)  # the key's name before transformers 5
        config["dtype"] = str(next(iter(state.values())).dtype).removeprefix("torch.")
        (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")
        save_torch_state_dict(state, folder)
