"""CISPO (MiniMax-M1, arXiv 2506.13585, eq. 4-5): the ratio is clipped and held constant, so every token keeps its gradient."""

from __future__ import annotations

from typing import Annotated, Literal

import torch
from pydantic import Field

from ada.config import config
from ada.trainer.packed import log_ratio, masked
from ada.types import Batch


@config
class CISPO:
    name: Literal["cispo"] = "cispo"
    clip_low: Annotated[
        float | None, Field(gt=0, lt=1, description="the weight is at least 1 - clip_low; null: unbounded, as published")
    ] = None
    clip_high: Annotated[float, Field(gt=0, description="the weight is at most 1 + clip_high")] = 0.28

    def per_token(self, logprobs: torch.Tensor, old_logprobs: torch.Tensor, batch: Batch) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
        """-sg(clip(rho)) A log pi."""
        ratio = log_ratio(logprobs.detach(), old_logprobs, batch).exp()
        weight = ratio.clamp(None if self.clip_low is None else 1 - self.clip_low, 1 + self.clip_high)
        loss = -weight * masked(batch.advantages_RL, batch) * masked(logprobs, batch)
        return loss, {"clip_fraction": (weight != ratio).float(), "ratio": ratio}
