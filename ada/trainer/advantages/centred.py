"""Reward minus a baseline, as REINFORCE, GRPO (arXiv 2402.03300), RLOO (2402.14740) and Reinforce-Ada (2510.04996) do."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import Field

from ada.config import config
from ada.types import Group


@config
class Centred:
    name: Literal["centred"] = "centred"
    baseline: Annotated[
        Literal["pool", "group", "leave_one_out", "belief"],
        Field(description="mean reward of all that was drawn, of what is trained on, of the group's others, or the belief before sampling"),
    ] = "pool"
    scale: Annotated[
        Literal["none", "std"], Field(description="std: divide by the standard deviation of the group's rewards (n - 1), as GRPO does")
    ] = "none"
    epsilon: Annotated[float, Field(gt=0, description="added to the standard deviation")] = 1e-6

    def advantages(self, group: Group) -> list[float]:
        """One per attempt. A single attempt has no others to be compared with: 0 under leave_one_out, and its std counts as 0."""
        rewards = group.rewards
        if len(rewards) == 0:
            return []
        centred = [r - b for r, b in zip(rewards, self._baselines(group, rewards), strict=True)]
        if self.scale == "none":
            return centred
        deviation = statistics.stdev(rewards) if len(rewards) > 1 else 0.0
        return [c / (deviation + self.epsilon) for c in centred]

    def _baselines(self, group: Group, rewards: Sequence[float]) -> list[float]:
        if self.baseline == "leave_one_out":
            return [statistics.mean([*rewards[:i], *rewards[i + 1 :]]) if len(rewards) > 1 else r for i, r in enumerate(rewards)]
        if self.baseline == "belief":
            if group.belief is None:
                raise ValueError(
                    f"advantage.baseline is `belief`, but prompt {group.prompt.id} has none: name an estimator under sampling.passrate, "
                    "or use baseline pool, group or leave_one_out"
                )
            return [group.belief.mean] * len(rewards)
        return [group.mean_reward if self.baseline == "pool" else statistics.mean(rewards)] * len(rewards)
