"""The frozen model that the policy is held to: the one it started from, sharded over the ranks as the actor is."""

from __future__ import annotations

from pathlib import Path

import deepspeed
import torch
from torch import nn

from ada.trainer.config import TrainerConfig
from ada.trainer.detour import whole_layers
from ada.trainer.policy import load_policy
from ada.types import Batch


class Reference:
    """Without gradients and optimizer. Under ZeRO-3 each rank holds a shard and gathers a layer when it needs it; else it is whole."""

    def __init__(self, folder: Path, trainer: TrainerConfig, dtype: torch.dtype, device: torch.device):
        self.model: nn.Module
        if trainer.zero_stage == 3:
            config = {
                "train_micro_batch_size_per_gpu": 1,
                "bf16": {"enabled": dtype == torch.bfloat16},
                "zero_optimization": {"stage": 3, "memory_efficient_linear": False},
                "steps_per_print": None,
            }
            self.policy = load_policy(folder, dtype, config).requires_grad_(False)
            whole_layers(self.policy)
            self.model = deepspeed.initialize(model=self.policy, config=config, dist_init_required=False)[0]
        else:
            self.policy = load_policy(folder, dtype).requires_grad_(False).to(device)
            self.model = self.policy

    @torch.no_grad()
    def logprobs(self, batch: Batch, temperature: float) -> torch.Tensor:
        """[R, L] float32 log-probs of the response tokens, 0 outside the mask. Collective under ZeRO-3."""
        logprobs: torch.Tensor = self.model(batch.tokens_RL, batch.positions_RL, batch.mask_RL, temperature, False)[0]
        return logprobs
