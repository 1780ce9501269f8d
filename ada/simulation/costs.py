"""What decoding and updating cost, in seconds: the inputs of the model, as functions of what is asked for."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ada.recipe.errors import RecipeError


@dataclass(frozen=True)
class DecodeCost:
    """Seconds of one decoding step with b draws running: straight lines between measured points, the last one going on."""

    points: tuple[tuple[float, float], ...]  # (draws running, seconds of a step), at least two, by draws

    @staticmethod
    def line(base: float, per_draw: float) -> DecodeCost:
        return DecodeCost(((0.0, base), (1.0, base + per_draw)))

    @staticmethod
    def read(text: str) -> DecodeCost:
        """`0.026+0.00012b`, or points `1:0.004,64:0.009,256:0.021`. Raises RecipeError."""
        number = r"([0-9.]+(?:[eE][-+]?[0-9]+)?)"
        if line := re.fullmatch(rf"\s*{number}\s*\+\s*{number}\s*b\s*", text):
            return DecodeCost.line(float(line[1]), float(line[2]))
        try:
            points = sorted((float(b), float(s)) for b, s in (point.split(":") for point in text.split(",")))
        except ValueError:
            points = []
        if len(points) < 2 or len({b for b, _ in points}) < len(points) or min(s for _, s in points) <= 0:
            raise RecipeError(
                f"command line: --decode is {text!r}; give seconds of a step with b draws running, as 0.026+0.00012b, or as two or more "
                "points draws:seconds, such as 1:0.004,64:0.009,256:0.021"
            )
        return DecodeCost(tuple(points))

    def __call__(self, draws: int) -> float:
        while draws >= len(self._table):
            self._grow()
        return self._table[draws]

    @cached_property
    def _table(self) -> list[float]:
        return []

    def _grow(self) -> None:
        at, seconds = np.array(self.points).T
        draws = np.arange(len(self._table), 2 * len(self._table) + 512)
        beyond = np.maximum(draws - at[-1], 0) * (seconds[-1] - seconds[-2]) / (at[-1] - at[-2])
        self._table.extend((np.interp(draws, at, seconds) + beyond).tolist())


@dataclass(frozen=True)
class StartCost:
    """Of draws that begin, or go on after an update, beside the decoding step that they then take part in."""

    per_step: float = 0.0  # seconds of a step in which some do, however many
    per_draw: float = 0.0  # seconds of each: its prompt's pass
    per_token: float = 0.0  # seconds of each token that one had when it was interrupted


@dataclass(frozen=True)
class UpdateCost:
    """Of a step's optimizer updates and all else that comes once a step."""

    fixed: float  # seconds
    per_token: float  # seconds of one GPU for each response token trained on

    def __call__(self, tokens: float, gpus: int) -> float:
        return self.fixed + self.per_token * tokens / gpus
