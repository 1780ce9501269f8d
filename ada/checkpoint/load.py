"""Reads a checkpoint that save.py wrote, on any number of ranks."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from safetensors import safe_open

from ada.checkpoint.folder import name_of
from ada.checkpoint.save import ACTOR, RECIPE, STATE

if TYPE_CHECKING:
    from ada.trainer.actor import Actor


class Checkpoint:
    def __init__(self, checkpoints: Path, step: int):
        self.folder = checkpoints / name_of(step)
        self.step = step

    @property
    def recipe(self) -> Path:
        return self.folder / RECIPE

    @cached_property
    def state(self) -> dict[str, Any]:
        """Only plain data and tensors: a file can run no code when it is read."""
        found: dict[str, Any] = torch.load(self.folder / STATE, weights_only=True, map_location="cpu")
        return found

    def randomness(self, rank: int) -> dict[str, Any] | None:
        """The generators' states of a rank; None for one that was not there when the checkpoint was written."""
        path = self.folder / f"random-{rank:05d}.pt"
        found: dict[str, Any] | None = torch.load(path, weights_only=True, map_location="cpu") if path.exists() else None
        return found

    def restore_actor(self, actor: Actor) -> None:
        """Collective. Raises KeyError or ValueError where it is another model's."""
        files = [safe_open(path, "pt") for path in sorted((self.folder / ACTOR).glob("*.safetensors"))]
        holder = {name: file for file in files for name in file.keys()}  # noqa: SIM118
        actor.load_state(self.state["updates"], lambda name: holder[name].get_tensor(name))
