"""Reward relative to its mean: MaxRL, maximum likelihood by reinforcement learning (arXiv 2602.02710)."""

from __future__ import annotations

import statistics
from typing import Annotated, Literal

from pydantic import Field

from ada.config import config
from ada.types import Group


@config
class MaxRL:
    """(r - mean) / mean: a group of n follows log p up to order n in 1 - p. It brings its own 1/p, so the objective is `linear`."""

    name: Literal["maxrl"] = "maxrl"
    baseline: Annotated[
        Literal["pool", "group"],
        Field(description="mean reward of all that was drawn, or of what is trained on: a balanced group's is 1/2"),
    ] = "pool"

    def advantages(self, group: Group) -> list[float]:
        """One per attempt; all 0 where the mean is 0, as nothing was right. Raises ValueError for negative rewards."""
        rewards = group.rewards
        if any(r < 0 for r in rewards):
            raise ValueError(
                f"advantage `maxrl` divides by the mean reward, and prompt {group.prompt.id} has a reward of {min(rewards)}: "
                "use rewards of 0 or more, or advantage `centred`"
            )
        if not rewards:
            return []
        mean = group.mean_reward if self.baseline == "pool" else statistics.mean(rewards)
        return [(r - mean) / mean if mean > 0 else 0.0 for r in rewards]
