"""Each sequence's sum is divided by one constant, so that its length does not weigh its tokens (Dr. GRPO, arXiv 2503.20783, sec. 3.1)."""

from __future__ import annotations

from typing import Annotated, Literal

import torch
from pydantic import Field

from ada.config import config
from ada.types import Batch


@config
class FixedLength:
    length: Annotated[int, Field(gt=0, description="tokens each sequence's sum is divided by; as a rule the response budget")]
    name: Literal["fixed_length"] = "fixed_length"

    def weights(self, batch: Batch) -> torch.Tensor:
        """[R, L] float32: 1 / (length * sequences of the whole update), 0 outside the mask."""
        return batch.mask_RL.float() / (self.length * max(batch.update_sequences, 1))
