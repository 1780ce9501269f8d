"""GSPO (arXiv 2507.18071): the clipped surrogate of the sequence's geometric-mean ratio; each token carries its own gradient (eq. 14)."""

from __future__ import annotations

from typing import Annotated, Literal

import torch
from pydantic import Field

from ada.config import config
from ada.trainer.packed import log_ratio, masked, sequence_mean
from ada.types import Batch


@config
class GSPO:
    name: Literal["gspo"] = "gspo"
    clip_low: Annotated[float, Field(gt=0, lt=1, description="a sequence ratio below 1 - clip_low gains nothing more")] = 3e-4
    clip_high: Annotated[float, Field(gt=0, description="a sequence ratio above 1 + clip_high gains nothing more")] = 4e-4

    def per_token(self, logprobs: torch.Tensor, old_logprobs: torch.Tensor, batch: Batch) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
        """-min(s A, clip(s) A), s = exp(mean log ratio of the sequence), as a value; its gradient flows through the token's log-prob."""
        mean_RL, _ = sequence_mean(log_ratio(logprobs.detach(), old_logprobs, batch), batch)
        own = masked(logprobs, batch)
        ratio = (masked(mean_RL, batch) + own - own.detach()).exp()
        advantage = masked(batch.advantages_RL, batch)
        plain = -ratio * advantage
        loss = torch.maximum(plain, -ratio.clamp(1 - self.clip_low, 1 + self.clip_high) * advantage)
        return loss, {"clip_fraction": (loss > plain).float(), "ratio": ratio.detach()}
