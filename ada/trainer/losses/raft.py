"""RAFT (arXiv 2304.06767): the log-likelihood of the responses kept, whatever their advantage. Use with grouping `positives`."""

from __future__ import annotations

from typing import Literal

import torch

from ada.config import config
from ada.trainer.packed import log_ratio, masked
from ada.types import Batch


@config
class RAFT:
    name: Literal["raft"] = "raft"

    def per_token(self, logprobs: torch.Tensor, old_logprobs: torch.Tensor, batch: Batch) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
        """-log pi."""
        return -masked(logprobs, batch), {"ratio": log_ratio(logprobs.detach(), old_logprobs, batch).exp()}
