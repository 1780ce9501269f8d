"""Arithmetic on packed rows [R, L] that respects the mask and the borders between sequences."""

from __future__ import annotations

import torch

from ada.types import Batch


def masked(values_RL: torch.Tensor, batch: Batch) -> torch.Tensor:
    """`values_RL` with 0 outside the mask. By selection, not by product: what lies there, NaN too, reaches neither value nor gradient."""
    return torch.where(batch.mask_RL, values_RL, 0.0)


def log_ratio(logprobs_RL: torch.Tensor, old_logprobs_RL: torch.Tensor, batch: Batch) -> torch.Tensor:
    """log(pi_theta / pi_old) of each response token, 0 outside the mask, so that no exp of it overflows there."""
    return masked(logprobs_RL, batch) - masked(old_logprobs_RL, batch)


def sequence_mean(values_RL: torch.Tensor, batch: Batch) -> tuple[torch.Tensor, torch.Tensor]:
    """At each slot: the mean of `values_RL` over the response tokens of the slot's sequence, and their number (1 at padding)."""
    slot = batch.sequence_RL.flatten() + 1  # padding, -1, is gathered under 0
    segments, slot = slot.unique(return_inverse=True)
    zero = values_RL.new_zeros(len(segments))
    total = zero.index_add(0, slot, masked(values_RL, batch).flatten())
    count = zero.index_add(0, slot, batch.mask_RL.flatten().to(values_RL.dtype)).clamp_min(1)
    return (total / count)[slot].view_as(values_RL), count[slot].view_as(values_RL)
