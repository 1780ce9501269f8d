"""From a finished pool to the group that is trained on, with its importance weights."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from ada.contracts import Grouping
from ada.types import Attempt, Group, Pool


def judged(pool: Pool) -> list[Attempt]:
    """The attempts with a verdict, by the index of their draw: the order never depends on who finished first."""
    return by_draw(a for a in pool.attempts if a.judged)


def shuffled(pool: Pool, seed: int) -> list[Attempt]:
    """The attempts with a verdict in an order that the seed decides, so that taking the first few takes some at random."""
    attempts = judged(pool)
    return [attempts[i] for i in np.random.default_rng(seed).permutation(len(attempts))]


def by_draw(attempts: Iterable[Attempt]) -> list[Attempt]:
    return sorted(attempts, key=lambda a: a.response.draw)


def needed_size(size: int | None, grouping: str, at_least: int = 1) -> int:
    """`at_least` 2: for a group whose weights bring back the pool's shares, and which must therefore have both sides."""
    if size is None or size < at_least:
        raise ValueError(f"grouping `{grouping}` needs a group size of at least {at_least}, found {size}: give one, or use grouping `all`")
    return size


def importance_weights(pool: Pool, chosen: Sequence[Attempt]) -> tuple[float, ...]:
    """(N+/N) / (n+/n) for each right attempt, (N-/N) / (n-/n) for each wrong one.

    With them the group's mean gradient is, given the pool, an unbiased estimate of the whole pool's, or of one side's part in it, as long
    as the members of each side are chosen at random and each side whose part is asked for is in the group.
    """
    judged_count = pool.right + pool.wrong
    rights = sum(a.right for a in chosen)
    wrongs = len(chosen) - rights
    return tuple(
        (pool.right / judged_count) / (rights / len(chosen)) if a.right else (pool.wrong / judged_count) / (wrongs / len(chosen))
        for a in chosen
    )


def group_of(pool: Pool, grouping: Grouping, size: int | None, seed: int) -> Group:
    """The attempts that `grouping` chooses, at most `size` of them, with the facts of the whole pool. Empty where nothing has a verdict.

    Where they are fewer and weighted, they weigh as much as `size` of them: what an update adds up is their sum, not their mean.
    """
    chosen = grouping.choose(pool, size, seed)
    weighted = getattr(grouping, "importance", False)
    whole = size / len(chosen) if size and chosen else 1.0
    return Group(
        prompt=pool.prompt,
        attempts=tuple(chosen),
        weights=tuple(w * whole for w in importance_weights(pool, chosen)) if weighted else (1.0,) * len(chosen),
        pass_rate=pool.pass_rate,
        mean_reward=pool.mean_reward,
        drawn=pool.drawn,
        belief=pool.belief,
    )
