"""avg@k and pass@k from counts of right answers."""

from __future__ import annotations

from collections.abc import Sequence
from math import comb

import numpy as np


def pass_at_k(n: int, right: int, k: int) -> float:
    """Chance that k of n responses, drawn without replacement, hold a right one: 1 - C(n-right, k)/C(n, k) (arXiv 2107.03374, eq. 1)."""
    if not 0 < k <= n or not 0 <= right <= n:
        raise ValueError(f"pass@{k} of {n} responses with {right} right: needs 0 < k <= n and 0 <= right <= n")
    return 1.0 - comb(n - right, k) / comb(n, k)


def mean_pass_at_k(n: int, rights: Sequence[int], k: int) -> float:
    return sum(pass_at_k(n, right, k) for right in rights) / len(rights)


def pass_curves(n: int, rights: Sequence[int]) -> np.ndarray:
    """[P, n]: pass@1 to pass@n of each problem. Column 0 is the share of right answers, so its mean over problems is avg@n."""
    table = {right: [pass_at_k(n, right, k) for k in range(1, n + 1)] for right in set(rights)}
    return np.array([table[right] for right in rights]).reshape(len(rights), n)
