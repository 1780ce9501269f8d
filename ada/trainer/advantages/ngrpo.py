"""A group's own failures as a signal: NGRPO's advantage calibration (arXiv 2509.18851)."""

from __future__ import annotations

import statistics
from typing import Annotated, Literal

from pydantic import Field

from ada.config import config
from ada.types import Group


@config
class NGRPO:
    """(r - mean) / std over the group and one virtual response of the largest reward. All right: 0, as ever. All wrong: below 0."""

    name: Literal["ngrpo"] = "ngrpo"
    max_reward: Annotated[float, Field(description="reward of the virtual response; the largest that the reward function can give")] = 1.0
    epsilon: Annotated[float, Field(gt=0, description="added to the standard deviation")] = 1e-6

    def advantages(self, group: Group) -> list[float]:
        """One per attempt; the virtual response has none. The standard deviation is the sample's (of n rewards with it: over n - 1).

        Raises ValueError where a reward is above `max_reward`.
        """
        if not group.attempts:
            return []
        if max(group.rewards) > self.max_reward:
            raise ValueError(
                f"advantage.max_reward is {self.max_reward}, and prompt {group.prompt.id} has a reward of {max(group.rewards)}: "
                "set it to the largest reward there can be"
            )
        extended = [*group.rewards, self.max_reward]
        mean, deviation = statistics.mean(extended), statistics.stdev(extended)
        return [(r - mean) / (deviation + self.epsilon) for r in group.rewards]
