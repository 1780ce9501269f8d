"""IcePop (Ring-1T, arXiv 2510.18855): a token weighs k = pi_old / pi_sampler where low <= k <= high, and nothing elsewhere."""

from __future__ import annotations

from typing import Annotated, Literal

import torch
from pydantic import Field

from ada.config import config
from ada.trainer.packed import log_ratio
from ada.types import Batch


@config
class IcePop:
    name: Literal["icepop"] = "icepop"
    low: Annotated[float, Field(gt=0, le=1, description="alpha: a token whose pi_old / pi_sampler is below gets no gradient")] = 0.5
    high: Annotated[float, Field(ge=1, description="beta: nor one above")] = 5.0

    def weights(self, old_logprobs: torch.Tensor, batch: Batch) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
        """M(k) = k within the bounds, 0 outside; a constant of the gradient."""
        ratio = log_ratio(old_logprobs.detach(), batch.sampler_logprobs_RL, batch).exp()
        outside = (ratio < self.low) | (ratio > self.high)
        return ratio.masked_fill(outside, 0.0), {"correction_masked_fraction": outside.float()}
