"""Sets of real numbers as disjoint intervals in order, with rounded ends."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ada.rewards.answers.evaluation import Number, context, equal
from ada.rewards.answers.limits import Unreadable


@dataclass(frozen=True, slots=True)
class Interval:
    low: Number
    low_closed: bool
    high: Number
    high_closed: bool

    def same(self, other: Interval) -> bool:
        return (
            (self.low_closed, self.high_closed) == (other.low_closed, other.high_closed)
            and equal(self.low, other.low)
            and equal(self.high, other.high)
        )


@dataclass(frozen=True, slots=True)
class Reals:
    intervals: tuple[Interval, ...]

    def same(self, other: Reals) -> bool:
        return len(self.intervals) == len(other.intervals) and all(a.same(b) for a, b in zip(self.intervals, other.intervals, strict=True))

    def contains(self, x: Number) -> bool:
        return any(
            piece.low < x < piece.high or (x == piece.low and piece.low_closed) or (x == piece.high and piece.high_closed)
            for piece in self.intervals
        )

    @property
    def ends(self) -> list[Number]:
        """The finite ends, in order."""
        mp = context()
        return sorted({end for piece in self.intervals for end in (piece.low, piece.high) if mp.isfinite(end)})

    def union(self, other: Reals) -> Reals:
        merged: list[Interval] = []
        for piece in sorted((*self.intervals, *other.intervals), key=lambda piece: (piece.low, not piece.low_closed)):
            last = merged[-1] if merged else None
            touching = last and (piece.low < last.high or (equal(piece.low, last.high) and (piece.low_closed or last.high_closed)))
            if not last or not touching:
                merged.append(piece)
            elif piece.high > last.high or (piece.high == last.high and piece.high_closed):
                merged[-1] = Interval(last.low, last.low_closed, piece.high, piece.high_closed)
        return Reals(tuple(merged))

    def complement(self) -> Reals:
        mp = context()
        pieces: list[Interval] = []
        low, closed = mp.ninf, False
        for piece in self.intervals:
            pieces += _piece(low, closed, piece.low, not piece.low_closed and piece.low != mp.ninf)
            low, closed = piece.high, not piece.high_closed
        pieces += _piece(low, closed and low != mp.inf, mp.inf, False)
        return Reals(tuple(pieces))

    def intersection(self, other: Reals) -> Reals:
        return self.complement().union(other.complement()).complement()


def everything() -> Reals:
    return Reals((Interval(context().ninf, False, context().inf, False),))


def interval(low: Number, low_closed: bool, high: Number, high_closed: bool) -> Reals:
    mp = context()
    pieces = _piece(low, low_closed and low != mp.ninf, high, high_closed and high != mp.inf)
    if not pieces:
        raise Unreadable("an interval with its ends the wrong way round")
    return Reals(tuple(pieces))


def points(numbers: Iterable[Number]) -> Reals:
    result = Reals(())
    for number in numbers:
        result = result.union(Reals((Interval(number, True, number, True),)))
    return result


def _piece(low: Number, low_closed: bool, high: Number, high_closed: bool) -> list[Interval]:
    return [Interval(low, low_closed, high, high_closed)] if low < high or (low == high and low_closed and high_closed) else []
