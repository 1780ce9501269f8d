"""Were the beliefs about pass rates right? What was believed before a prompt was drawn, beside what its draws then said."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ada.report.record import RunRecord
from ada.report.signal import pools

BINS = 10
Z95 = 1.959964  # of the normal law, two sides


@dataclass(frozen=True)
class Bin:
    """Pools whose belief is in one tenth of 0 to 1. `low`, `high`: 95 % interval of the pass rate (Wilson 1927, eq. 4)."""

    belief: float  # mean
    observed: float
    low: float
    high: float
    pools: int
    draws: int


@dataclass(frozen=True)
class Calibration:
    bins: list[Bin]
    first: int  # draws of each pool that are looked at
    error: float | None  # mean |belief - pass rate| over the bins, by draws; None without beliefs


def calibration(run: RunRecord) -> Calibration:
    """Looks at each pool's first draws only, as many as every pool has: a pool that stops at its first success has too many of them."""
    believed = [(belief, verdicts) for row in run.pools for _, verdicts, belief in pools(row) if belief is not None]
    first = min((len(verdicts) for _, verdicts in believed), default=0)
    sums = [[0.0, 0, 0, 0] for _ in range(BINS)]  # beliefs, pools, right, with a verdict
    for belief, verdicts in believed:
        seen = verdicts[:first]
        judged = seen.count("R") + seen.count("W")
        if judged:
            tenth = sums[min(int(belief * BINS), BINS - 1)]
            for i, value in enumerate((belief, 1, seen.count("R"), judged)):
                tenth[i] += value
    bins = [Bin(b / n, right / draws, *wilson(right, draws), int(n), int(draws)) for b, n, right, draws in sums if n]
    draws = sum(b.draws for b in bins)
    return Calibration(bins, first, sum(b.draws * abs(b.belief - b.observed) for b in bins) / draws if draws else None)


def wilson(right: float, draws: float) -> tuple[float, float]:
    centre = (right + Z95**2 / 2) / (draws + Z95**2)
    half = Z95 / (draws + Z95**2) * math.sqrt(right * (draws - right) / draws + Z95**2 / 4)
    return max(0.0, centre - half), min(1.0, centre + half)
