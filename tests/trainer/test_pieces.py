"""Micro-batches cut in half: every sequence once, whole, with its own numbers."""

from __future__ import annotations

import pytest
import torch

from ada.trainer.batching import pack
from ada.trainer.pieces import fitted, halved, padded, slots
from ada.types import Sequence
from tests.trainer.plain import sequences
from tests.trainer.test_batching import unpack


@pytest.mark.parametrize("budget", [1, 30, 100, 10_000])
def test_pieces_hold_the_same_sequences_within_the_budget(budget):
    items = sequences(23)
    batches = pack(items, 0, 1, 400, 60)
    old = [torch.rand_like(batch.advantages_RL) for batch in batches]
    found = fitted(zip(batches, old, strict=True), budget)
    assert unpack(batch for batch, _ in found) == unpack(batches)
    sizes = [slots(batch) for batch, _ in found]
    assert sizes == sorted(sizes, reverse=True)
    assert all(slots(batch) <= budget or len(batch.sequence_RL.unique()) == 1 for batch, _ in found)
    assert {(b.update_tokens, b.update_sequences) for b, _ in found} == {(batches[0].update_tokens, 23)}
    before = {batch.sequence_RL[m][0].item(): o[m].tolist() for batch, o in zip(batches, old, strict=True) for m in _masks(batch)}
    after = {batch.sequence_RL[m][0].item(): o[m].tolist() for batch, o in found for m in _masks(batch)}
    assert after == before


def test_a_single_sequence_is_not_cut():
    (batch,) = pack(sequences(1), 0, 1, 10, 10)
    assert halved((batch, None)) == [(batch, None)]


def test_padding_has_no_response_tokens():
    pieces = padded(fitted([(b, None) for b in pack(sequences(3), 0, 1, 400, 60)], 400), 5)
    assert len(pieces) == 5 and not pieces[4][0].mask_RL.any() and pieces[4][0].update_sequences == 3


def test_the_largest_micro_batch_comes_first():
    """Two rows of 50 fill more slots together than the row of 60 that heads the list."""
    items = [Sequence((1,), (2,) * (length - 1), (-1.0,) * (length - 1), 0.5, 0) for length in (60, 50, 50)]
    assert [slots(batch) for batch in pack(items, 0, 1, 100, 60)] == [100, 60]


def _masks(batch):
    return [batch.mask_RL & (batch.sequence_RL == index) for index in set(batch.sequence_RL[batch.mask_RL].tolist())]
