"""A checkpoint, complete on the disk, against torch.save of the same tensors and an fsync."""

from __future__ import annotations

import os
import statistics

import torch

from ada.checkpoint.randomness import random_state
from ada.checkpoint.save import save
from ada.recipe.validate import dump
from ada.run import Run
from benchmarks.interleaved import Comparison, interleaved


def saving_against_plain(run: Run, pairs: int) -> Comparison:
    """Bytes of tensors per second: master weights, moments, and the weights of the Hugging Face folder.

    Ours writes a file for each layer, flushes and checksums it, and renames the folder when all is there.
    """
    tensors = _tensors(run)
    recipe, size = dump(run.recipe), _bytes(tensors)

    def ours(pair: int) -> int:
        save(run.path / "checkpoints", pair, run.actor, run.ranks, run.facts(), random_state(), recipe, lambda: None)
        return size

    def plain(pair: int) -> int:
        with (run.path / f"plain-{pair}.pt").open("wb") as file:
            torch.save(tensors, file)
            file.flush()
            os.fsync(file.fileno())
        return size

    return interleaved(ours, plain, pairs)


def seconds_held_up(saving: Comparison, run: Run) -> tuple[float, int]:
    """The training waits from a checkpoint's first byte to its last, median; and the bytes of its tensors."""
    size = _bytes(_tensors(run))
    return size / statistics.median(saving.ours), size


def _tensors(run: Run) -> dict[str, torch.Tensor]:
    state = {name: tensor for _, layer in run.actor.state(lambda number: True) for name, tensor in layer.items()}
    return state | {f"huggingface/{name}": weight.clone() for name, weight in run.actor.named_weights()}


def _bytes(tensors: dict[str, torch.Tensor]) -> int:
    return sum(tensor.nbytes for tensor in tensors.values())
