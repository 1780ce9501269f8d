"""Confidence intervals over problems: what the mean might have been, had other problems of the same kind been asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

RESAMPLES = 4000
LEVEL = 0.95


@dataclass(frozen=True, slots=True)
class Interval:
    value: float
    low: float  # percentiles of the bootstrap distribution (Efron 1979) that hold 95 % of it
    high: float


def resampled_means(values_PK: np.ndarray, seed: int) -> np.ndarray:
    """[P, K] values of P problems -> [RESAMPLES, K] means over P problems drawn with replacement; each problem's K values stay together."""
    problems = len(values_PK)
    counts_RP = np.random.default_rng(seed).multinomial(problems, np.full(problems, 1 / problems), size=RESAMPLES)
    return counts_RP @ values_PK / problems


def intervals(parts: Sequence[np.ndarray], seed: int = 0) -> list[Interval]:
    """Of the K means over all problems of several sets, each [P, K]: a set weighs as many problems as it has.

    Every set is resampled by itself, since which sets there are and how many problems each has was not left to chance.
    """
    parts = [part for part in parts if len(part)]
    if not parts:
        return []
    weights = np.array([len(part) for part in parts]) / sum(map(len, parts))
    means_K = sum(weight * part.mean(axis=0) for weight, part in zip(weights, parts, strict=True))
    means_RK = sum(weight * resampled_means(part, seed + place) for place, (weight, part) in enumerate(zip(weights, parts, strict=True)))
    low_K, high_K = np.quantile(means_RK, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
    return [Interval(*map(float, each)) for each in zip(means_K, low_K, high_K, strict=True)]
