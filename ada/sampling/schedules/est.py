"""Draws in proportion to a power of the believed difficulty, all decided before sampling: Reinforce-Ada-Est (arXiv 2510.04996)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from ada.config import config
from ada.sampling.allocation import allocate
from ada.types import Outcome, Pool


@config
class Est:
    """N_x ~ (p_x + epsilon)^-gamma within [min_draws, max_draws], with p_x the belief before sampling and a fixed sum over the step."""

    name: Literal["est"] = "est"
    mean_draws: Annotated[
        float, Field(gt=0, description="draws per prompt, averaged over the step's prompts; their sum is kept exactly")
    ] = 8.0
    exponent: Annotated[
        float, Field(ge=0, description="gamma: 0.5 is the hybrid for the log objective, 1 its implicit variant, 0 uniform")
    ] = 0.5
    epsilon: Annotated[
        float, Field(gt=0, description="added to the believed pass rate, so that a hopeless prompt's share stays finite")
    ] = 0.05
    min_draws: Annotated[int, Field(ge=1, description="N_min: draws that each prompt gets at least")] = 2
    max_draws: Annotated[int, Field(ge=1, description="N_max: draws that each prompt gets at most")] = 32

    def __post_init__(self) -> None:
        if not self.min_draws <= self.mean_draws <= self.max_draws:
            raise ValueError(
                f"schedule.mean_draws is {self.mean_draws}, outside schedule.min_draws = {self.min_draws} to schedule.max_draws = "
                f"{self.max_draws}: no allocation can have that mean; change one of the three"
            )

    @property
    def check_every(self) -> int:
        return self.max_draws

    def budgets(self, pools: Sequence[Pool]) -> list[int]:
        believed = np.fromiter((_believed(pool) for pool in pools), np.float64, len(pools))
        weights = (believed + self.epsilon) ** -self.exponent
        return allocate(weights, round(self.mean_draws * len(pools)), self.min_draws, self.max_draws).tolist()

    def stop(self, pool: Pool) -> Outcome | None:
        return "exhausted" if pool.drawn >= pool.budget else None


def _believed(pool: Pool) -> float:
    if pool.belief is None:
        raise ValueError(
            f"schedule `est` divides draws by the belief about each prompt's pass rate, and prompt {pool.prompt.id} has none: "
            "name a pass-rate estimator in the recipe, such as `ema`"
        )
    return pool.belief.mean
