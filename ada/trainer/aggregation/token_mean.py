"""Every response token of the update counts alike (DAPO, arXiv 2503.14476, eq. 8; Reinforce-Ada's choice)."""

from __future__ import annotations

from typing import Literal

import torch

from ada.config import config
from ada.types import Batch


@config
class TokenMean:
    name: Literal["token_mean"] = "token_mean"

    def weights(self, batch: Batch) -> torch.Tensor:
        """[R, L] float32: 1 / response tokens of the whole update, 0 outside the mask."""
        return batch.mask_RL.float() / max(batch.update_tokens, 1)
