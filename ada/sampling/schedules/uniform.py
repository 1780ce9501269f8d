"""The same number of draws for every prompt: GRPO (arXiv 2402.03300), and BroRL's wide sampling (2510.01180)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import Field

from ada.config import config
from ada.types import Outcome, Pool


@config
class Uniform:
    name: Literal["uniform"] = "uniform"
    draws: Annotated[int, Field(ge=1, description="responses drawn for each prompt")] = 4

    @property
    def check_every(self) -> int:
        return self.draws

    def budgets(self, pools: Sequence[Pool]) -> list[int]:
        return [self.draws] * len(pools)

    def stop(self, pool: Pool) -> Outcome | None:
        return "exhausted" if pool.drawn >= self.draws else None
