"""k3 = pi_ref / pi - log(pi_ref / pi) - 1 (GRPO, arXiv 2402.03300, eq. 4): unbiased as a value, never negative.

As a loss its gradient is, on policy, that of the reverse, KL(pi_ref || pi).
"""

from __future__ import annotations

from typing import Annotated, Literal

import torch
from pydantic import Field

from ada.config import config
from ada.trainer.packed import log_ratio
from ada.types import Batch


@config
class K3:
    coefficient: Annotated[float, Field(gt=0, description="weight of the divergence in the loss, per nat")]
    name: Literal["k3"] = "k3"

    def per_token(self, logprobs: torch.Tensor, reference: torch.Tensor, batch: Batch) -> torch.Tensor:
        """exp(x) - x - 1 of x = log(pi_ref / pi)."""
        gap = -log_ratio(logprobs, reference, batch)
        return gap.expm1() - gap
