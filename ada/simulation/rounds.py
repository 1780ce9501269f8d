"""The rounds of the paper: nobody starts the next one before everybody's is over (Reinforce-Ada, arXiv 2510.04996)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ada.contracts import Schedule
from ada.types import Outcome, Pool


@dataclass(frozen=True)
class Rounds:
    """A schedule whose budgets grow by one round at a time: they are asked for again when all are used up, by all ranks together."""

    inner: Schedule
    name: str = "rounds"

    @property
    def check_every(self) -> int:
        return self.inner.check_every

    def budgets(self, pools: Sequence[Pool]) -> list[int]:
        most = self.inner.budgets(pools)
        return [min(pool.drawn + self.check_every, budget) for pool, budget in zip(pools, most, strict=True)]

    def stop(self, pool: Pool) -> Outcome | None:
        return self.inner.stop(pool)
