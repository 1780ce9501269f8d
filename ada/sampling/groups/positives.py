"""Right answers only: RAFT, rejection-sampling fine-tuning (arXiv 2304.06767)."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from ada.config import config
from ada.sampling.grouping import by_draw, shuffled
from ada.types import Attempt, Pool


@config
class Positives:
    name: Literal["positives"] = "positives"
    importance: Annotated[
        bool,
        Field(
            description="weight a group of fixed size by the right answers' share of the pool: its gradient is then, given the pool, "
            "unbiased for what they contribute; off, as in RAFT, each one that is trained on counts alike"
        ),
    ] = False

    def choose(self, pool: Pool, size: int | None, seed: int) -> list[Attempt]:
        """Every right attempt, or `size` of them. Empty where none is right."""
        return by_draw([a for a in shuffled(pool, seed) if a.right][:size])
