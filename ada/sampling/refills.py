"""How many prompts DAPO opens in a step: exactly, where its prompts are drawn from one law, independently and without end."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.special import bdtr

Floats = npt.NDArray[np.float64]


def opened_per_group(valid_P: Floats, groups: int, max_gen_batches: int) -> Floats:
    """E[prompts opened] / `groups`, where a prompt has a signal with probability valid_P[i]; between 1 and `max_gen_batches`.

    Prompts are opened until `groups` of them are valid, or `max_gen_batches` times as many are open: the t-th is, if of the t - 1 before it
    fewer than `groups` are valid, so E[opened] is the sum over t of P(Binomial(t - 1, v) < groups), the mean of a negative binomial law cut
    off at the cap. What is opened never looks ahead, so by Wald's identity whatever a prompt has in the mean, a step has this many times.
    """
    before = np.arange(groups * max_gen_batches)
    valid = np.clip(valid_P, 0.0, 1.0)[:, None]  # a sum of probabilities can be off by a rounding error
    return np.where(before < groups, 1.0, bdtr(groups - 1, np.maximum(before, groups), valid)).sum(-1) / groups
