"""Explore with a few draws, then spend the rest where the gradient's variance asks for it: GVM-RAFT (arXiv 2505.02391)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import Field

from ada.config import config
from ada.sampling.allocation import allocate
from ada.sampling.grouping import judged
from ada.types import Outcome, Pool


@config
class TwoStage:
    """After `explore` draws of each prompt, the rest is divided in proportion to 1/sqrt(p), or to sqrt((1-p)/p) for Reinforce with a
    baseline (appendix B of arXiv 2510.04996); p is the share of right answers among the explored draws."""

    name: Literal["two_stage"] = "two_stage"
    explore: Annotated[int, Field(ge=1, description="n': draws of every prompt in the first stage")] = 4
    mean_draws: Annotated[
        float, Field(gt=0, description="draws per prompt over both stages, averaged over the step's prompts; the sum is exact")
    ] = 8.0
    max_draws: Annotated[int, Field(ge=1, description="draws that a prompt gets at most, over both stages")] = 32
    rule: Annotated[
        Literal["raft", "baseline"],
        Field(description="raft: shares 1/sqrt(p); baseline: sqrt((1-p)/p), nothing for a prompt always right"),
    ] = "raft"
    floor: Annotated[
        float, Field(gt=0, lt=1, description="p is taken as at least this, so that a prompt never right has a finite share")
    ] = 0.05

    def __post_init__(self) -> None:
        if not self.explore < self.mean_draws <= self.max_draws:
            raise ValueError(
                f"schedule.mean_draws is {self.mean_draws}; it must be more than schedule.explore = {self.explore} and at most "
                f"schedule.max_draws = {self.max_draws}: change one of the three"
            )

    @property
    def check_every(self) -> int:
        return self.max_draws

    def budgets(self, pools: Sequence[Pool]) -> list[int]:
        if any(pool.drawn < self.explore for pool in pools):
            return [self.explore] * len(pools)
        rest = round(self.mean_draws * len(pools)) - self.explore * len(pools)
        extra = allocate([self._share(pool) for pool in pools], rest, 0, self.max_draws - self.explore)
        return (extra + self.explore).tolist()

    def stop(self, pool: Pool) -> Outcome | None:
        return "exhausted" if pool.drawn >= self.max_draws else None

    def _share(self, pool: Pool) -> float:
        """From the explored draws alone, so that asking again after the second stage gives the same budgets. No verdict at all: 0."""
        verdicts = [a.right for a in judged(pool) if a.response.draw < self.explore]
        if not verdicts:
            return 0.0
        pass_rate = max(sum(verdicts) / len(verdicts), self.floor)
        return math.sqrt((1 - pass_rate) / pass_rate) if self.rule == "baseline" else 1 / math.sqrt(pass_rate)
