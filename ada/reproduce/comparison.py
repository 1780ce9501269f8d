"""Methods at an equal budget: mean and standard error over seeds, and paired tests against the baselines."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import ttest_rel

from ada.reproduce.experiment import Axis
from ada.reproduce.outcome import Outcome


@dataclass(frozen=True)
class Difference:
    """Of accuracy between two methods, over the seeds that both have."""

    mean: float
    error: float  # standard error of the paired differences
    p: float  # of the two-sided paired t-test; NaN where all pairs differ by the same, which it takes for certainty
    pairs: int


@dataclass(frozen=True)
class Standing:
    method: str
    mean: float
    error: float  # standard error over seeds; NaN for one seed
    seeds: int
    against: Mapping[str, Difference | None]  # by baseline; None: itself, or fewer than two seeds in common


@dataclass(frozen=True)
class Comparison:
    axis: Axis
    budget: float
    standings: list[Standing]


def compare(outcomes: Sequence[Outcome], axis: Axis, budget: float, baselines: Sequence[str]) -> Comparison:
    scores: dict[str, dict[int, float]] = {}
    for outcome in outcomes:
        scores.setdefault(outcome.method, {})[outcome.seed] = outcome.accuracy_at(axis, budget)
    standings = []
    for method, by_seed in scores.items():
        against = {base: difference(by_seed, scores[base]) if base != method else None for base in baselines if base in scores}
        mean, error = mean_and_error(list(by_seed.values()))
        standings.append(Standing(method, mean, error, len(by_seed), against))
    return Comparison(axis, budget, standings)


def difference(one: Mapping[int, float], other: Mapping[int, float]) -> Difference | None:
    """one - other; None where fewer than two seeds are in both."""
    seeds = sorted(one.keys() & other.keys())
    if len(seeds) < 2:
        return None
    a, b = np.array([one[s] for s in seeds]), np.array([other[s] for s in seeds])
    mean, error = mean_and_error(a - b)
    p = float(ttest_rel(a, b).pvalue) if error > 0 else math.nan
    return Difference(mean, error, p, len(seeds))


def mean_and_error(values: Sequence[float] | np.ndarray) -> tuple[float, float]:
    return float(np.mean(values)), float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else float("nan")
