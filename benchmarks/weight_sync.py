"""A weight sync, its proof included, against a plain copy of the same bytes in memory."""

from __future__ import annotations

from ada.run import Run
from benchmarks.interleaved import Comparison, interleaved


def sync_against_copy(run: Run, pairs: int) -> Comparison:
    """Numbers per second."""
    weights = [weight.clone() for _, weight in run.actor.named_weights()]
    numbers = sum(weight.numel() for weight in weights)

    def ours(pair: int) -> int:
        run.sync()
        return numbers

    def plain(pair: int) -> int:
        for weight in weights:
            weight.clone()
        return numbers

    return interleaved(ours, plain, pairs)
