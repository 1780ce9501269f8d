"""Rounds of M draws for each open prompt until its exit rule holds or N_max is reached: Reinforce-Ada-Seq (arXiv 2510.04996)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import Field

from ada.config import config
from ada.types import Outcome, Pool


@config
class Seq:
    """`pos` is resolved by N+ >= K_pos, `balance` by N+ >= K_pos and N- >= K_neg. An attempt without a verdict is a draw, and neither."""

    name: Literal["seq"] = "seq"
    exit: Annotated[
        Literal["pos", "balance"], Field(description="pos: enough right answers; balance: enough right and enough wrong ones")
    ] = "balance"
    check_every: Annotated[int, Field(ge=1, description="M: draws of a prompt between two looks at its exit rule")] = 8
    max_draws: Annotated[int, Field(ge=1, description="N_max: draws a prompt may have in all; a multiple of check_every")] = 32
    positives: Annotated[int, Field(ge=1, description="K_pos: right answers that the exit rule asks for")] = 2
    negatives: Annotated[
        int | None, Field(ge=1, description="K_neg: wrong answers that exit `balance` asks for; unset: as many as positives")
    ] = None

    def __post_init__(self) -> None:
        if self.max_draws % self.check_every:
            raise ValueError(
                f"schedule.max_draws is {self.max_draws}, which is not a multiple of schedule.check_every = {self.check_every}: "
                "the last round would be cut short; change one of them"
            )
        if self.exit == "pos" and self.negatives is not None:
            raise ValueError(
                f"schedule.negatives is {self.negatives}, but exit `pos` asks for no wrong answers: leave it out, or use exit: balance"
            )
        if self.positives + self.wrong_needed > self.max_draws:
            raise ValueError(
                f"schedule.max_draws is {self.max_draws}, fewer than the {self.positives + self.wrong_needed} answers its exit asks for: "
                "raise max_draws, or lower positives or negatives"
            )

    @property
    def wrong_needed(self) -> int:
        if self.exit == "pos":
            return 0
        return self.positives if self.negatives is None else self.negatives

    def budgets(self, pools: Sequence[Pool]) -> list[int]:
        return [self.max_draws] * len(pools)

    def stop(self, pool: Pool) -> Outcome | None:
        if pool.right >= self.positives and pool.wrong >= self.wrong_needed:
            return "resolved"
        return "exhausted" if pool.drawn >= self.max_draws else None
