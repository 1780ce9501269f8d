"""From groups to what each trained response's score is multiplied by, through the real credit and the real loss."""

from __future__ import annotations

from collections.abc import Sequence as Many

import torch

from ada.contracts import Loss
from ada.trainer.entropy_guidance import guided
from ada.types import Batch, Sequence


def one_row(sequences: Many[Sequence], entropies: Many[float]) -> Batch:
    """An update of responses of one token, all in one row; a slot is its response's token, `entropies` those of the policy there."""
    count = len(sequences)
    row = torch.arange(count)[None]
    batch = Batch(
        tokens_RL=torch.tensor([[s.response_ids[0] for s in sequences]]),
        positions_RL=row,
        mask_RL=torch.ones(1, count, dtype=torch.bool),
        sampler_logprobs_RL=torch.zeros(1, count),
        advantages_RL=torch.tensor([[s.advantage for s in sequences]], dtype=torch.float64),
        by_entropy_RL=torch.tensor([[s.by_entropy for s in sequences]]),
        stale_RL=torch.zeros(1, count, dtype=torch.bool),
        sequence_RL=row,
        update_tokens=count,
        update_sequences=count,
    )
    return guided(batch, torch.tensor([entropies], dtype=torch.float64))


def coefficients(sequences: Many[Sequence], entropies: Many[float], loss: Loss) -> list[float]:
    """c of each response, where the update goes along the sum of c * score: minus the loss's slope in the log-prob at the old policy."""
    if not sequences:
        return []
    logprobs = torch.zeros(1, len(sequences), dtype=torch.float64, requires_grad=True)
    per_token, _ = loss.per_token(logprobs, torch.zeros_like(logprobs), one_row(sequences, entropies))
    (slope,) = torch.autograd.grad(per_token.sum(), logprobs)
    return [float(c) for c in -slope[0]]
