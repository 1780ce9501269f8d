"""Advantages that a response's tokens do not share: in proportion to the policy's entropy at each of them (RL-ZVP, arXiv 2509.21880)."""

from __future__ import annotations

import dataclasses

import torch

from ada.trainer.packed import masked
from ada.types import Batch


def guided(batch: Batch, entropy_RL: torch.Tensor) -> Batch:
    """With a the advantage of a sequence marked `by_entropy`: its token t gets a H_t where a > 0, a (max_k H_k - H_t) where a < 0.

    `entropy_RL` in nats, of the response tokens; no gradient flows through it. Other sequences keep their advantage.
    """
    if not batch.by_entropy_RL.any():
        return batch
    entropy_RL = masked(entropy_RL.detach(), batch)
    slot = batch.sequence_RL.flatten() + 1  # padding, -1, is gathered under 0
    most = entropy_RL.new_zeros(int(slot.max()) + 1).scatter_reduce(0, slot, entropy_RL.flatten(), "amax")
    short_of_it_RL = most[slot].view_as(entropy_RL) - entropy_RL
    shaped_RL = batch.advantages_RL * torch.where(batch.advantages_RL > 0, entropy_RL, short_of_it_RL)
    return dataclasses.replace(batch, advantages_RL=torch.where(batch.by_entropy_RL, shaped_RL, batch.advantages_RL))
