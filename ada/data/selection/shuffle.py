from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from ada.config import config
from ada.types import Pool, Prompt


@config
class Shuffle:
    """Every prompt once an epoch, in an order that depends on (seed, epoch) alone."""

    name: Literal["shuffle"] = "shuffle"

    def start(self, prompts: Sequence[Prompt], seed: int) -> ShuffledPrompts:
        return ShuffledPrompts(prompts, seed)


class ShuffledPrompts:
    def __init__(self, prompts: Sequence[Prompt], seed: int):
        self.prompts = prompts
        self.seed = seed
        self.taken = 0  # prompts handed out since the start of the run
        self._epoch: tuple[int, np.ndarray] | None = None

    def next(self, count: int) -> list[Prompt]:
        """The next `count` prompts, over the end of an epoch where need be."""
        chosen = [self.prompts[self._order(i // len(self.prompts))[i % len(self.prompts)]] for i in range(self.taken, self.taken + count)]
        self.taken += count
        return chosen

    def _order(self, epoch: int) -> np.ndarray:
        if self._epoch is None or self._epoch[0] != epoch:
            self._epoch = (epoch, np.random.default_rng([self.seed, epoch]).permutation(len(self.prompts)))
        return self._epoch[1]

    def learn(self, pools: Sequence[Pool]) -> None:
        """The order does not depend on what was drawn."""

    def state_dict(self) -> dict[str, Any]:
        return {"taken": self.taken}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.taken = state["taken"]
