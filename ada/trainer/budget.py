"""How large a micro-batch may be: the same on all ranks, and half as large from the moment that memory ran out on any of them."""

from __future__ import annotations

import logging
from collections.abc import Sequence as Many

import torch
import torch.distributed as dist

from ada.trainer.errors import OutOfMemory
from ada.trainer.pieces import Piece, fitted, padded, slots

log = logging.getLogger(__name__)


class Budget:
    def __init__(self, tokens: int, device: torch.device):
        self.slots = tokens  # of a micro-batch
        self._device = device
        self._halvings = 0  # since they were last asked for

    def parts(self, pieces: Many[Piece]) -> list[Piece]:
        """The same sequences in micro-batches that fit, equally many on every rank. Collective."""
        cut = fitted(pieces, self.slots)
        return padded(cut, self.largest_of_ranks(len(cut)))

    def halve(self, pieces: Many[Piece]) -> None:
        """For all that comes after `pieces`, in which memory ran out, and for them. Collective.

        Raises OutOfMemory where the largest micro-batch is one sequence.
        """
        largest = self._largest(pieces)
        self.slots = min(self.slots, largest) // 2
        if self._largest(pieces) == largest:
            raise OutOfMemory(
                f"memory ran out on a single sequence of {largest} tokens: set trainer.gradient_checkpointing=true, lower "
                "generation.max_response_tokens, or use more ranks (NPROC) with trainer.zero_stage=3"
            )
        self._halvings += 1
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
        log.warning("out of memory: this is repeated with micro-batches of at most %d tokens, as is what comes after it", self.slots)

    def halvings(self) -> int:
        """Since the last time this was asked."""
        number, self._halvings = self._halvings, 0
        return number

    def largest_of_ranks(self, number: int) -> int:
        of_ranks = torch.tensor(number, device=self._device)
        dist.all_reduce(of_ranks, op=dist.ReduceOp.MAX)
        return int(of_ranks)

    def _largest(self, pieces: Many[Piece]) -> int:
        return self.largest_of_ranks(max(slots(batch) for batch, _ in fitted(pieces, self.slots)))
