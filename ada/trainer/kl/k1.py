"""k1 = log(pi / pi_ref): unbiased, and of either sign for a single token.

Differentiated as it stands, its gradient is that of log pi, whose mean is 0 whatever the reference is. The gradient of KL is the score
function's, E[log(pi / pi_ref) grad log pi], and that is what this one has (arXiv 2506.09477, sec. 3): the same as k2's.
"""

from __future__ import annotations

from typing import Annotated, Literal

import torch
from pydantic import Field

from ada.config import config
from ada.trainer.packed import log_ratio
from ada.types import Batch


@config
class K1:
    coefficient: Annotated[float, Field(gt=0, description="weight of the divergence in the loss, per nat")]
    name: Literal["k1"] = "k1"

    def per_token(self, logprobs: torch.Tensor, reference: torch.Tensor, batch: Batch) -> torch.Tensor:
        """As a value log(pi / pi_ref); its derivative by log pi is the same number."""
        gap = log_ratio(logprobs, reference, batch)
        value = gap.detach()
        return value * (1 + gap - value)
