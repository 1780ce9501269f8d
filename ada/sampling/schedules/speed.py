"""A few draws tell which prompts have both outcomes, and only those are drawn further: SPEED-RL (arXiv 2506.09016)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import Field

from ada.config import config
from ada.types import Outcome, Pool


@config
class Speed:
    """After `screen` draws a prompt all right or all wrong is given up; the others are `resolved`, and go on to `draws`. Inside `dapo`, as
    in the paper, new prompts take the place of those given up."""

    name: Literal["speed"] = "speed"
    screen: Annotated[int, Field(ge=2, description="N_init: draws of every prompt")] = 4
    draws: Annotated[int, Field(ge=3, description="N_init + N_cont: draws of a prompt with both outcomes among the first")] = 24

    def __post_init__(self) -> None:
        if self.draws <= self.screen:
            raise ValueError(
                f"schedule.draws is {self.draws}; it must be more than schedule.screen = {self.screen}, or use schedule uniform"
            )

    @property
    def check_every(self) -> int:
        return self.screen

    def budgets(self, pools: Sequence[Pool]) -> list[int]:
        return [self.draws] * len(pools)

    def stop(self, pool: Pool) -> Outcome | None:
        if pool.drawn >= self.draws:
            return "resolved"
        return None if pool.right and pool.wrong else "gave_up"
