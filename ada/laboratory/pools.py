"""Pools of given counts, made of real attempts: an arm of either side stands for all, as no part of the credit looks at the arm."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from itertools import pairwise

from ada.laboratory.bandit import RIGHT, is_right
from ada.types import Attempt, PassRate, Pool, Prompt, Response

Marks = tuple[tuple[int, int], ...]
"""(draws, right ones) of a pool at each time that draws were allotted, and now."""

RIGHT_ARM, WRONG_ARM = 0, int((RIGHT == 0).argmax())
PROMPT = Prompt("laboratory", (0,), "", "laboratory", "")


@lru_cache(maxsize=10_000)
def attempt(arm: int, draw: int) -> Attempt:
    right = is_right(arm)
    return Attempt(Response(PROMPT.id, draw, (arm,), (0.0,), "stop", 0), str(arm), float(right), right)


def pool_of(verdicts: Iterable[bool], belief: float | None = None, seed: int = 0) -> Pool:
    attempts = [attempt(RIGHT_ARM if right else WRONG_ARM, draw) for draw, right in enumerate(verdicts)]
    return Pool(PROMPT, None if belief is None else PassRate(belief, 1.0), budget=len(attempts), attempts=attempts, seed=seed)


def pool_at(marks: Marks, belief: float | None = None) -> Pool:
    """Between two marks the right ones come first: a schedule may look at what an earlier stage drew, and at no order within it."""
    verdicts: list[bool] = []
    for (drawn, right), (then, right_then) in pairwise(((0, 0), *marks)):
        verdicts += [True] * (right_then - right) + [False] * (then - drawn - right_then + right)
    return pool_of(verdicts, belief)
