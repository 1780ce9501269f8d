"""REINFORCE (Williams, 1992): the on-policy policy gradient, without a ratio."""

from __future__ import annotations

from typing import Literal

import torch

from ada.config import config
from ada.trainer.packed import log_ratio, masked
from ada.types import Batch


@config
class Reinforce:
    name: Literal["reinforce"] = "reinforce"

    def per_token(self, logprobs: torch.Tensor, old_logprobs: torch.Tensor, batch: Batch) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
        """-A log pi."""
        loss = -masked(batch.advantages_RL, batch) * masked(logprobs, batch)
        return loss, {"ratio": log_ratio(logprobs.detach(), old_logprobs, batch).exp()}
