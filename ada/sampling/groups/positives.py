"""Right answers only: RAFT, rejection-sampling fine-tuning (arXiv 2304.06767)."""

from __future__ import annotations

from typing import Literal

from ada.config import config
from ada.sampling.grouping import by_draw, shuffled
from ada.types import Attempt, Pool


@config
class Positives:
    name: Literal["positives"] = "positives"

    def choose(self, pool: Pool, size: int | None, seed: int) -> list[Attempt]:
        """Every right attempt, or `size` of them. Empty where none is right."""
        return by_draw([a for a in shuffled(pool, seed) if a.right][:size])
