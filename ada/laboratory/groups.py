"""The groups that a pool of N draws, N+ of them right, can become, with their probabilities, made by the real grouping."""

from __future__ import annotations

from collections.abc import Iterator
from math import comb

from ada.contracts import Grouping
from ada.laboratory.pools import pool_of
from ada.sampling.grouping import group_of
from ada.sampling.groups.random import Random
from ada.types import Group, Pool


def groups_of(grouping: Grouping, size: int | None, drawn: int, right: int, belief: float | None) -> list[tuple[float, Group]]:
    """A random part of the pool has a hypergeometric number of right ones; every other grouping decides that number by the counts alone.

    Raises ValueError where a grouping turns out to be of neither kind.
    """
    if isinstance(grouping, Random) and size is not None and size < drawn:
        return list(_random_parts(grouping, size, drawn, right, belief))
    verdicts = [True] * right + [False] * (drawn - right)
    groups = [group_of(pool_of(order, belief), grouping, size, seed) for order, seed in ((verdicts, 0), (verdicts[::-1], 1))]
    if len({_composition(group) for group in groups}) > 1:
        raise ValueError(f"grouping `{grouping.name}` takes different numbers of right ones from pools of {right} right of {drawn}")
    return [(1.0, groups[0])]


def _random_parts(grouping: Random, size: int, drawn: int, right: int, belief: float | None) -> Iterator[tuple[float, Group]]:
    """The places that a seed takes do not depend on what is there, so each composition is made by putting the right ones in their way."""
    seed = 0
    taken = {a.response.draw for a in grouping.choose(pool_of([False] * drawn, belief), size, seed)}
    left = [draw for draw in range(drawn) if draw not in taken]
    for inside in range(max(0, right - len(left)), min(size, right) + 1):
        places = {*sorted(taken)[:inside], *left[: right - inside]}
        pool: Pool = pool_of([draw in places for draw in range(drawn)], belief)
        chance = comb(size, inside) * comb(drawn - size, right - inside) / comb(drawn, right)
        yield chance, group_of(pool, grouping, size, seed)


def _composition(group: Group) -> tuple[int, int]:
    right = sum(a.right for a in group.attempts)
    return right, len(group.attempts) - right
