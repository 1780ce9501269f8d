"""PPO's clipped surrogate (arXiv 1707.06347, eq. 7) with separate bounds (DAPO's clip-higher, arXiv 2503.14476, eq. 8)
and, on request, the dual clip of negative advantages (arXiv 1912.09729, eq. 5)."""

from __future__ import annotations

from typing import Annotated, Literal

import torch
from pydantic import Field

from ada.config import config
from ada.trainer.packed import log_ratio, masked
from ada.types import Batch


@config
class Clipped:
    name: Literal["clipped"] = "clipped"
    clip_low: Annotated[float, Field(gt=0, lt=1, description="a ratio below 1 - clip_low gains nothing more")] = 0.2
    clip_high: Annotated[float, Field(gt=0, description="a ratio above 1 + clip_high gains nothing more")] = 0.28
    dual_clip: Annotated[
        float | None, Field(gt=1, description="bound on the loss of a token with advantage A < 0, in units of |A|; null: none")
    ] = None

    def per_token(self, logprobs: torch.Tensor, old_logprobs: torch.Tensor, batch: Batch) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
        """-min(rho A, clip(rho, 1 - clip_low, 1 + clip_high) A); with a dual clip c no more than c |A| where A < 0."""
        ratio = log_ratio(logprobs, old_logprobs, batch).exp()
        advantage = masked(batch.advantages_RL, batch)
        plain = -ratio * advantage
        loss = torch.maximum(plain, -ratio.clamp(1 - self.clip_low, 1 + self.clip_high) * advantage)
        clipped = loss.detach() > plain.detach()
        if self.dual_clip is not None:
            bound = -self.dual_clip * advantage
            clipped |= (advantage < 0) & (loss.detach() > bound)
            loss = torch.where(advantage < 0, torch.minimum(loss, bound), loss)
        return loss, {"clip_fraction": clipped.float(), "ratio": ratio.detach()}
