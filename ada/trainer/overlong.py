"""Responses that are too long, or were cut off: a soft penalty on their reward, as DAPO has it."""

from __future__ import annotations

import dataclasses
from typing import Annotated

from pydantic import Field

from ada.config import config
from ada.rewards.length import soft_punishment
from ada.types import Attempt, Pool


@config
class SoftPenalty:
    """DAPO's soft over-long punishment (arXiv 2503.14476, eq. 13), added to the reward that advantages are made from.

    Verdicts (right, wrong), pass rates and the reward metrics stay those of the reward function.
    """

    buffer_tokens: Annotated[int, Field(gt=0, description="L_cache: it rises over the last so many of generation.max_response_tokens")]
    weight: Annotated[float, Field(gt=0, description="reward taken from a response of full length")] = 1.0

    def penalty(self, length: int, most: int) -> float:
        """0 or less. `most`: the response budget (L_max)."""
        return self.weight * soft_punishment(length, most, self.buffer_tokens)

    def shape(self, pool: Pool, most: int) -> Pool:
        """The pool with shaped rewards; attempts without a verdict keep their 0, which enters no statistic."""
        return dataclasses.replace(pool, attempts=[self._shaped(attempt, most) for attempt in pool.attempts])

    def _shaped(self, attempt: Attempt, most: int) -> Attempt:
        penalty = self.penalty(len(attempt.response.token_ids), most)
        return dataclasses.replace(attempt, reward=attempt.reward + penalty) if attempt.judged and penalty else attempt
