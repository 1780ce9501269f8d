"""The law of a prompt's pool at pass rate p, exactly: of its number of draws N, and of the right answers among them.

The draws of a prompt are independent, right with probability p. A pool is then a walk of (draws t, right answers k), a round adds
Binomial(M, p) to k, and the exit rule says where the walk stops. Failures to score are left out: each draw is right or wrong.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ada.sampling.schedules.seq import Seq
from ada.sampling.schedules.uniform import Uniform

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class PoolLaw:
    """Shape letters: P pass rates, T the values N can take, K the counts of right answers from 0 to N_max."""

    draws_T: npt.NDArray[np.int64]
    stopped_PTK: Floats  # probability that a pool ends with N = draws_T[t] and k right answers

    @property
    def draws_PT(self) -> Floats:
        """The distribution of N."""
        return self.stopped_PTK.sum(-1)


def pool_law(schedule: Seq | Uniform, pass_rates: npt.ArrayLike) -> PoolLaw:
    """The law of the pool of a prompt, for each of the pass rates [P] in [0, 1]."""
    p = np.atleast_1d(np.asarray(pass_rates, dtype=np.float64))
    if not ((p >= 0) & (p <= 1)).all():
        raise ValueError(f"pass rates must be from 0 to 1, found {p[~((p >= 0) & (p <= 1))][:5]}")
    size = schedule.check_every
    draws = np.arange(size, (schedule.max_draws if isinstance(schedule, Seq) else schedule.draws) + 1, size)
    right = np.arange(draws[-1] + 1)
    round_PM = _binomial(size, p)

    open_PK = np.zeros((len(p), len(right)))
    open_PK[:, 0] = 1.0
    stopped = np.zeros((len(p), len(draws), len(right)))
    for t in range(len(draws)):
        open_PK = _add_round(open_PK, round_PM)
        ends = _resolved(schedule, right, int(draws[t])) | (t == len(draws) - 1)
        stopped[:, t] = open_PK * ends
        open_PK = open_PK * ~ends
    return PoolLaw(draws, stopped)


def _resolved(schedule: Seq | Uniform, right: npt.NDArray[np.int64], drawn: int) -> npt.NDArray[np.bool_]:
    if isinstance(schedule, Uniform):
        return np.zeros(len(right), dtype=bool)
    return (right >= schedule.positives) & (drawn - right >= schedule.wrong_needed)


def _add_round(open_PK: Floats, round_PM: Floats) -> Floats:
    added = np.zeros_like(open_PK)
    for k in range(round_PM.shape[1]):
        added[:, k:] += open_PK[:, : open_PK.shape[1] - k] * round_PM[:, k : k + 1]
    return added


def _binomial(count: int, p: Floats) -> Floats:
    """Probability of k right of `count`, [P, count + 1]: one draw at a time, so that nothing overflows at large counts."""
    law = np.zeros((len(p), count + 1))
    law[:, 0] = 1.0
    step = np.stack([1 - p, p], axis=1)
    for _ in range(count):
        law = _add_round(law, step)
    return law
