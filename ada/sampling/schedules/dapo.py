"""Dynamic sampling: prompts whose rewards are all equal are replaced by new ones until the step has its groups (DAPO, arXiv 2503.14476)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import Field

from ada.config import config, one_of
from ada.contracts import Schedule
from ada.sampling.grouping import judged
from ada.sampling.schedules.ngu import NeverGiveUp
from ada.sampling.schedules.seq import Seq
from ada.sampling.schedules.speed import Speed
from ada.sampling.schedules.uniform import Uniform
from ada.types import Outcome, Pool


@config
class Dapo:
    """Draws as `inner` says, which must be a schedule that looks at each prompt alone; `wanted` says when to open another prompt."""

    name: Literal["dapo"] = "dapo"
    inner: Annotated[
        Uniform | Seq | NeverGiveUp | Speed,
        Field(discriminator="name", description="how many draws each prompt gets"),
        one_of.by_name,
    ] = Uniform()
    max_gen_batches: Annotated[int, Field(ge=1, description="prompts opened in a step are at most this times its prompts")] = 10

    @property
    def check_every(self) -> int:
        return self.inner.check_every

    def budgets(self, pools: Sequence[Pool]) -> list[int]:
        return self.inner.budgets(pools)

    def stop(self, pool: Pool) -> Outcome | None:
        return self.inner.stop(pool)

    def wanted(self, pools: Sequence[Pool], groups: int) -> int:
        """Prompts to open now, in the order of the selector, with `pools` all that were opened in this step and `groups` = B asked for.

        Open pools are counted as if they were to be valid, so one prompt is opened for each that turns out not to be. In the
        end those opened are the shortest run of prompts that has B valid ones, in whatever order they finished, or all that the cap allows.
        """
        hopeful = sum(pool.outcome is None or has_signal(pool) for pool in pools)
        return max(0, min(groups - hopeful, self.max_gen_batches * groups - len(pools)))


def refills(schedule: Schedule, pools: Sequence[Pool], groups: int) -> int:
    """Prompts to open now in place of others, which Dapo alone does: see `Dapo.wanted`."""
    return schedule.wanted(pools, groups) if isinstance(schedule, Dapo) else 0


def has_signal(pool: Pool) -> bool:
    """Whether the pool's rewards differ: otherwise every advantage is zero."""
    return len({attempt.reward for attempt in judged(pool)}) > 1
