"""TIS, truncated importance sampling: E_sampler[min(pi_old / pi_sampler, C) ...] instead of E_old[...]
(Yao et al., "Your efficient RL framework secretly brings you off-policy RL training", 2025; the truncation: Ionides, 2008)."""

from __future__ import annotations

from typing import Annotated, Literal

import torch
from pydantic import Field

from ada.config import config
from ada.trainer.packed import log_ratio
from ada.types import Batch


@config
class TIS:
    name: Literal["tis"] = "tis"
    cap: Annotated[float, Field(gt=0, description="C: the largest weight that a token's loss may get")] = 2.0

    def weights(self, old_logprobs: torch.Tensor, batch: Batch) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
        """min(pi_old / pi_sampler, C), a constant of the gradient."""
        ratio = log_ratio(old_logprobs.detach(), batch.sampler_logprobs_RL, batch).exp()
        return ratio.clamp(max=self.cap), {"correction_capped_fraction": (ratio > self.cap).float()}
