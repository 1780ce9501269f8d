"""Host memory that the actor takes at its peak, in times the size of the model, in a process of its own."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
from pathlib import Path

from ada.scratch import Scratch

HIDDEN, LAYERS, VOCABULARY = 512, 8, 16384


def peak_in_model_sizes(zero_stage: int) -> tuple[float, float]:
    """Growth of the resident set from before the model is loaded to the peak after two updates / bytes of its weights; those in MiB."""
    environment = {name: value for name, value in os.environ.items() if name not in ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_PORT")}
    command = [sys.executable, "-m", "benchmarks.memory", str(zero_stage)]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    ratio, size = json.loads(done.stdout.splitlines()[-1])
    return ratio, size


def _measure(zero_stage: int) -> tuple[float, float]:
    from ada.trainer.distributed import start_distributed

    start_distributed()
    from transformers import Qwen2Config, Qwen2ForCausalLM

    from ada.recipe.validate import read_recipe
    from ada.trainer.actor import Actor
    from ada.trainer.batching import pack
    from benchmarks.packing import heavy_tailed

    recipe = read_recipe("micro_seq_balance")[1]
    config = Qwen2Config(
        vocab_size=VOCABULARY,
        hidden_size=HIDDEN,
        intermediate_size=4 * HIDDEN,
        num_hidden_layers=LAYERS,
        num_attention_heads=8,
        num_key_value_heads=2,
        tie_word_embeddings=True,
    )
    with Scratch("bench") as folder:
        pid = os.fork()
        if pid == 0:  # so that making the model does not count
            Qwen2ForCausalLM(config).save_pretrained(folder)
            os._exit(0)
        os.waitpid(pid, 0)
        before = _peak_kib()
        trainer = dataclasses.replace(recipe.trainer, zero_stage=zero_stage, micro_batch_tokens=1024, row_tokens=352)  # type: ignore[arg-type]
        actor = Actor.start(folder, trainer, recipe.model.torch_dtype, 1.0)
        for _ in range(2):
            actor.update(pack(heavy_tailed(VOCABULARY)[:16], 0, 1, 1024, 352), None, recipe.loss)
    peak = _peak_kib()
    size = sum(weight.nbytes for _, weight in actor.named_weights())
    return (peak - before) * 1024 / size, size / 2**20


def _peak_kib() -> int:
    """Of this program alone: what getrusage tells begins with the size of the process that started it."""
    return next(int(line.split()[1]) for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM:"))


if __name__ == "__main__":
    print(json.dumps(_measure(int(sys.argv[1]))))
