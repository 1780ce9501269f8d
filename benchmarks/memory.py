"""Host memory that the actor takes at its peak, in times the size of the model, in processes of their own."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

from ada.scratch import Scratch

HIDDEN, LAYERS, VOCABULARY = 512, 8, 16384


class Peak(NamedTuple):
    """Growth since before the model was loaded, on the rank where it is largest / bytes of the model's weights."""

    loading: float  # of the rank's own memory, until the weights are there; pages of the file they are read from are the system's
    training: float  # of the resident set, those pages and all, until after two updates
    mib: float  # of the weights


def peak_in_model_sizes(zero_stage: int, ranks: int) -> Peak:
    environment = {name: value for name, value in os.environ.items() if name not in ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_PORT")}
    launcher = ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={ranks}"] if ranks > 1 else []
    with Scratch("bench") as folder:
        command = [sys.executable, *launcher, "-m", "benchmarks.memory", str(zero_stage), str(folder)]
        done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return Peak(*json.loads(done.stdout.splitlines()[-1]))


def _measure(zero_stage: int, folder: Path) -> Peak | None:
    """None on all ranks but the first."""
    from ada.trainer.distributed import start_distributed

    rank, world = start_distributed()
    import torch.distributed as dist

    from ada.recipe.validate import read_recipe
    from ada.trainer.actor import Actor, load_policy
    from ada.trainer.batching import pack
    from benchmarks.packing import heavy_tailed

    recipe = read_recipe("micro_seq_balance")[1]
    if rank == 0:
        _make_model(folder)
    dist.barrier()
    before, loading = _kib("VmHWM"), []

    def load(*arguments: Any) -> Any:
        own = OwnMemory()
        policy = load_policy(*arguments)
        loading.append(own.growth())
        return policy

    trainer = dataclasses.replace(recipe.trainer, zero_stage=zero_stage, micro_batch_tokens=1024, row_tokens=352)  # type: ignore[arg-type]
    with mock.patch("ada.trainer.actor.load_policy", load):
        actor = Actor.start(folder, trainer, recipe.model.torch_dtype, 1.0)
    for _ in range(2):
        actor.update(pack(heavy_tailed(VOCABULARY)[:16], rank, world, 1024, 352), None, recipe.loss)
    ours = (loading[0], _kib("VmHWM") - before)
    size = sum(weight.nbytes for _, weight in actor.named_weights())
    all_ranks: list[Any] = [None] * world
    dist.all_gather_object(all_ranks, ours)
    return Peak(*(1024 * max(kib) / size for kib in zip(*all_ranks, strict=True)), size / 2**20) if rank == 0 else None


def _make_model(folder: Path) -> None:
    """In a process of its own, so that it does not count."""
    from transformers import Qwen2Config, Qwen2ForCausalLM

    config = Qwen2Config(
        vocab_size=VOCABULARY,
        hidden_size=HIDDEN,
        intermediate_size=4 * HIDDEN,
        num_hidden_layers=LAYERS,
        num_attention_heads=8,
        num_key_value_heads=2,
        tie_word_embeddings=True,
    )
    pid = os.fork()
    if pid == 0:
        Qwen2ForCausalLM(config).save_pretrained(folder)
        os._exit(0)
    os.waitpid(pid, 0)


class OwnMemory(threading.Thread):
    """Looks at what this process holds in memory that no file backs; the system keeps no peak of it."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.before = self.peak = _kib("RssAnon")
        self.over = threading.Event()
        self.start()

    def run(self) -> None:
        while not self.over.wait(0.003):
            self.peak = max(self.peak, _kib("RssAnon"))

    def growth(self) -> int:
        """KiB, at its peak. Ends the watch."""
        self.over.set()
        self.join()
        return max(self.peak, _kib("RssAnon")) - self.before


def _kib(name: str) -> int:
    """Of this program alone: what getrusage tells begins with the size of the process that started it."""
    return next(int(line.split()[1]) for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(f"{name}:"))


if __name__ == "__main__":
    if found := _measure(int(sys.argv[1]), Path(sys.argv[2])):
        print(json.dumps(found))
