"""Micro-batches cut into smaller ones of the same sequences, whose losses and gradients add up to the same. For when memory runs out."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from typing import Any

import torch

from ada.trainer.batching import to_batch
from ada.types import Batch

Piece = tuple[Batch, torch.Tensor | None]
"""A micro-batch and what is cut along with it: [R, L] old log-probs, for example; None: nothing."""


def slots(batch: Batch) -> int:
    return batch.tokens_RL.numel()


def fitted(pieces: Iterable[Piece], budget: int) -> list[Piece]:
    """Each cut in half until it has at most `budget` slots, or a single sequence; the largest first, so that memory runs out at once."""
    done: list[Piece] = []
    waiting = list(pieces)
    while waiting:
        piece = waiting.pop()
        halves = halved(piece) if slots(piece[0]) > budget else [piece]
        if len(halves) == 1:
            done += halves
        else:
            waiting += halves
    return sorted(done, key=lambda piece: -slots(piece[0]))


def halved(piece: Piece) -> list[Piece]:
    """The upper and lower rows; of a single row, its first and last sequences; of a single sequence, the piece itself."""
    batch, _ = piece
    rows, used = batch.tokens_RL.shape[0], _used(batch)
    if rows > 1:
        return [_part(piece, slice(0, rows // 2), slice(None)), _part(piece, slice(rows // 2, rows), slice(None))]
    starts = (batch.positions_RL[0, :used] == 0).nonzero().flatten().tolist()[1:]
    if not starts:
        return [piece]
    middle = min(starts, key=lambda start: abs(2 * start - used))
    return [_part(piece, slice(0, 1), slice(0, middle)), _part(piece, slice(0, 1), slice(middle, used))]


def padded(pieces: list[Piece], count: int) -> list[Piece]:
    """With micro-batches without response tokens behind them, so that all ranks have equally many. `pieces` must not be empty."""
    batch, beside = pieces[0]
    empty = on(to_batch([], [], batch.update_tokens, batch.update_sequences), batch.tokens_RL.device)
    nothing: Piece = (empty, None if beside is None else beside.new_zeros(empty.tokens_RL.shape))
    return pieces + [nothing] * (count - len(pieces))


def on(batch: Batch, device: torch.device) -> Batch:
    return _each(batch, lambda tensor: tensor.to(device))


def _part(piece: Piece, rows: slice, columns: slice) -> Piece:
    batch, beside = piece
    part = _each(batch, lambda tensor: tensor[rows, columns])
    width = _used(part)
    part = _each(part, lambda tensor: tensor[:, :width])
    return part, None if beside is None else beside[rows, columns][:, :width]


def _used(batch: Batch) -> int:
    """Columns up to the last that holds a token of a sequence; at least 2, as in a micro-batch of padding."""
    return max(int((batch.sequence_RL >= 0).any(0).sum()), 2)


def _each(batch: Batch, change: Callable[[torch.Tensor], torch.Tensor]) -> Batch:
    tensors = {f.name: value for f in dataclasses.fields(batch) if isinstance(value := getattr(batch, f.name), torch.Tensor)}
    changed: dict[str, Any] = {name: change(tensor) for name, tensor in tensors.items()}
    return dataclasses.replace(batch, **changed)
