"""k2 = log(pi / pi_ref)^2 / 2: biased as a value, never negative; its gradient is, on policy, exactly that of KL(pi || pi_ref)."""

from __future__ import annotations

from typing import Annotated, Literal

import torch
from pydantic import Field

from ada.config import config
from ada.trainer.packed import log_ratio
from ada.types import Batch


@config
class K2:
    coefficient: Annotated[float, Field(gt=0, description="weight of the divergence in the loss, per nat")]
    name: Literal["k2"] = "k2"

    def per_token(self, logprobs: torch.Tensor, reference: torch.Tensor, batch: Batch) -> torch.Tensor:
        """log(pi / pi_ref)^2 / 2."""
        return log_ratio(logprobs, reference, batch).square() / 2
