"""What a finished or running run tells a plan: the pass rates of its prompts, and what a response cost. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import xlog1py, xlogy

from ada.data.sources import DataError
from ada.sampling.profile import Profile

Row = Mapping[str, Any]

GRID, ROUNDS = 101, 300  # pass rates 0, 0.01, ..., 1; rounds of expectation and maximisation


def profile_of(pools: Sequence[Row]) -> Profile:
    """Rows of pools.jsonl: the law of pass rates that makes the counts of each prompt's last visit likeliest (Kiefer and Wolfowitz, 1956).

    Counts of 1 of 4 are not taken for a pass rate of 1/4: the noise of few draws does not widen the profile. Nor does it matter that a
    schedule stopped at the first right answer, as k right of m are as likely, up to a factor without p, whatever made the schedule stop.
    """
    last: dict[str, str] = {}
    for row in pools:
        last |= dict(zip(row["prompts"], row["verdicts"], strict=True))
    counts = np.array([(v.count("R"), v.count("W")) for v in last.values() if v.count("R") + v.count("W")], dtype=np.float64)
    if not len(counts):
        raise DataError("pools.jsonl holds no draw with a verdict: the run has not finished a step yet, or is older than that file")
    rates_P = np.linspace(0, 1, GRID)
    likelihood_XP = np.exp(_log_likelihood(counts, rates_P))
    weights_P = np.full(GRID, 1 / GRID)
    for _ in range(ROUNDS):
        posterior_XP = likelihood_XP * weights_P
        weights_P = (posterior_XP / posterior_XP.sum(1, keepdims=True)).mean(0)
    return Profile(rates_P, weights_P)


def _log_likelihood(counts: npt.NDArray[np.float64], rates_P: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """[X, P], each row shifted so that its largest is 0."""
    log_XP = xlogy(counts[:, :1], rates_P) + xlog1py(counts[:, 1:], -rates_P)
    return np.asarray(log_XP - log_XP.max(1, keepdims=True))


@dataclass(frozen=True)
class Costs:
    """Means over a run's steps, in seconds of wall time and in tokens."""

    generation_seconds: float  # for a response drawn
    update_seconds: float  # for a response trained on
    tokens: float  # of a response


def costs_of(steps: Sequence[Row]) -> Costs:
    """Rows of metrics.jsonl, step 0 left out. The first step, in which much is done for the first time, counts only where it is alone."""
    whole = [row for row in steps if row.get("step", 0) > 0 and row.get("time/update") is not None and row.get("sampling/responses")]
    whole = whole[1:] or whole
    drawn = sum(row["sampling/responses"] + row.get("sampling/surplus_draws", 0) for row in whole)
    trained = sum(row.get("sampling/trained") or 0 for row in whole)
    if not trained:
        raise DataError("metrics.jsonl holds no step that trained on a response, so it says nothing of costs")
    return Costs(
        generation_seconds=sum(row["time/rollout"] for row in whole) / drawn,
        update_seconds=sum(row["time/update"] for row in whole) / trained,
        tokens=sum(row["completions/mean_length"] * row["sampling/responses"] for row in whole)
        / sum(row["sampling/responses"] for row in whole),
    )
