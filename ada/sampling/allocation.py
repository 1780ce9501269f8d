"""A fixed number of draws, divided over prompts in proportion to their weights, in integers and within bounds."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt


def allocate(weights: npt.ArrayLike, total: int, minimum: int, maximum: int) -> npt.NDArray[np.int64]:
    """Integers n_x in [minimum, maximum] with sum `total` exactly, proportional to `weights` [B] wherever no bound holds.

    Clipping with redistribution has one fixed point, n_x = clip(c w_x, minimum, maximum) with the c that makes the sum right. It is
    rounded down and what is missing goes to the largest remainders. A larger weight never gets less; equal ones may differ by one,
    the earlier getting more. A weight of zero gets what is left when all others are at their maximum.

    Raises ValueError where the bounds cannot hold, or a weight is negative, infinite or NaN.
    """
    share = np.asarray(weights, dtype=np.float64)
    if not len(share) * minimum <= total <= len(share) * maximum:
        raise ValueError(
            f"a total of {total} draws cannot be divided over {len(share)} prompts with {minimum} to {maximum} draws each: "
            f"the total must be from {len(share) * minimum} to {len(share) * maximum}; change the total or the bounds"
        )
    if len(share) == 0:
        return np.zeros(0, dtype=np.int64)
    if not (np.isfinite(share).all() and (share >= 0).all()):
        raise ValueError(f"weights of prompts must be finite and not negative, found {share[~(np.isfinite(share) & (share >= 0))][:5]}")
    share = np.maximum(share / share.max(), 1e-9) if share.max() > 0 else np.ones_like(share)

    real = _clipped_shares(share, total, minimum, maximum)
    whole = np.floor(real).astype(np.int64)
    remainder = np.where(whole < maximum, real - whole, -1.0)
    missing = total - int(whole.sum())
    whole[np.argsort(-remainder, kind="stable")[:missing]] += 1
    return whole


def _clipped_shares(share: npt.NDArray[np.float64], total: int, minimum: int, maximum: int) -> npt.NDArray[np.float64]:
    """clip(c share, minimum, maximum) with the largest c whose sum does not exceed `total`, by bisection over the sorted shares."""
    for bound in (minimum, maximum):
        if len(share) * bound == total:
            return np.full_like(share, bound)
    ordered = np.sort(share)
    summed = np.concatenate([[0.0], np.cumsum(ordered)])

    def sum_at(c: float) -> float:
        at_minimum, below_maximum = np.searchsorted(ordered, [minimum / c, maximum / c])
        between = summed[below_maximum] - summed[at_minimum]
        return at_minimum * minimum + c * between + (len(share) - below_maximum) * maximum

    low, high = minimum / ordered[-1], maximum / ordered[0]
    while low < (middle := (low + high) / 2) < high:
        if sum_at(middle) <= total:
            low = middle
        else:
            high = middle
    return np.clip(low * share, minimum, maximum)
