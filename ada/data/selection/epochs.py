"""What the selections share: an endless order of prompts, and the refusal of steps that ask for more than there are."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from ada.types import Prompt


class Epochs:
    """Places 0, 1, 2, ... of an endless order of `size` indices, each index once an epoch; it depends on (seed, epoch) alone."""

    def __init__(self, size: int, seed: int):
        self.size, self.seed = size, seed
        self._epoch: tuple[int, np.ndarray] | None = None

    def __getitem__(self, place: int) -> int:
        epoch, within = divmod(place, self.size)
        if self._epoch is None or self._epoch[0] != epoch:
            self._epoch = (epoch, np.random.default_rng([self.seed, epoch]).permutation(self.size))
        return int(self._epoch[1][within])


def require_enough(prompts: Sequence[Prompt], count: int, beside: Collection[str]) -> None:
    """Raises ValueError where a step asks for more different prompts than there are."""
    if count + len(beside) > len(prompts):
        raise ValueError(f"a step asks for {count + len(beside)} different prompts, and there are {len(prompts)}")
