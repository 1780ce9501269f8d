"""K draws at a time; a prompt without a right answer is tried again with probability q: never-give-up sampling (arXiv 2609.13443)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from ada.config import config
from ada.types import Outcome, Pool


@config
class NeverGiveUp:
    """All right: retired (`gave_up`). Mixed: `resolved`. None right: again with probability q, else `gave_up`."""

    name: Literal["ngu"] = "ngu"
    check_every: Annotated[int, Field(ge=1, description="K: draws of a prompt at a time")] = 8
    max_draws: Annotated[int, Field(ge=1, description="draws a prompt may have in all; a multiple of check_every")] = 64
    again: Annotated[float, Field(ge=0, le=1, description="q: probability of K more draws for a prompt that has no right answer yet")] = 0.5

    def __post_init__(self) -> None:
        if self.max_draws % self.check_every:
            raise ValueError(
                f"schedule.max_draws is {self.max_draws}, which is not a multiple of schedule.check_every = {self.check_every}: "
                "the last round would be cut short; change one of them"
            )

    def budgets(self, pools: Sequence[Pool]) -> list[int]:
        return [self.max_draws] * len(pools)

    def stop(self, pool: Pool) -> Outcome | None:
        if pool.right:
            return "resolved" if pool.wrong else "gave_up"
        if pool.drawn >= self.max_draws:
            return "exhausted"
        # A coin of the pool's own seed: the same on every rank and in any order of events, another one at each step and round.
        return None if np.random.default_rng([pool.seed, pool.drawn]).random() < self.again else "gave_up"
