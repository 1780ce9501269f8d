"""The mean over sequences of each one's mean over its tokens (GRPO, arXiv 2402.03300, eq. 3)."""

from __future__ import annotations

from typing import Literal

import torch

from ada.config import config
from ada.trainer.packed import sequence_mean
from ada.types import Batch


@config
class SequenceMean:
    name: Literal["sequence_mean"] = "sequence_mean"

    def weights(self, batch: Batch) -> torch.Tensor:
        """[R, L] float32: 1 / (response tokens of the sequence * sequences of the whole update), 0 outside the mask."""
        _, length_RL = sequence_mean(batch.mask_RL.float(), batch)
        return batch.mask_RL.float() / (length_RL * max(batch.update_sequences, 1))
