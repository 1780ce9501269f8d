"""The attempts whose rewards have the largest variance: PODS (arXiv 2504.13818)."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from ada.config import config
from ada.sampling.grouping import by_draw, needed_size, shuffled
from ada.types import Attempt, Pool


@config
class MaxVariance:
    name: Literal["max_variance"] = "max_variance"
    importance: Annotated[
        bool,
        Field(
            description="weight right and wrong attempts back to the pool's shares; for rewards of 0 and 1 the group's gradient is then "
            "unbiased for the pool's. Off, as published"
        ),
    ] = False

    def choose(self, pool: Pool, size: int | None, seed: int) -> list[Attempt]:
        """Some lowest and some highest rewards, `size` in all, as the paper's theorem 1 says the best choice is; ties by the seed.

        For rewards of 0 and 1 it is the balanced split. Fewer than `size` verdicts: all of them.
        """
        size = needed_size(size, self.name, at_least=2 if self.importance else 1)
        ranked = sorted(shuffled(pool, seed), key=lambda a: a.reward)
        if len(ranked) <= size:
            return by_draw(ranked)
        rewards = np.array([a.reward for a in ranked])
        # For `lowest` from the bottom and the rest from the top; n^2 variance = n sum r^2 - (sum r)^2 is exact for rewards of 0 and 1.
        splits = [np.concatenate([rewards[:lowest], rewards[len(ranked) - size + lowest :]]) for lowest in range(size + 1)]
        spread = [size * (split**2).sum() - split.sum() ** 2 for split in splits]
        lowest = size - int(np.argmax(spread[::-1]))  # the last of the best: of an odd size the larger half is wrong, as in `balanced`
        return by_draw(ranked[:lowest] + ranked[len(ranked) - size + lowest :])
