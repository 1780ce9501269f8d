"""How a prompt's pool ends: the exact law of (draws N, right ones N+), by asking the real schedule at every state that can be reached.

A step has many prompts: each pass rate, and each outcome of an earlier stage, occurs in it as often as its probability says.
Beliefs are taken to be right.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from math import comb

from ada.contracts import Schedule
from ada.laboratory.pools import Marks, pool_at
from ada.sampling.allocation import allocate
from ada.sampling.schedules.ngu import NeverGiveUp

Ends = dict[tuple[int, int], float]
"""Probability that a pool ends with (N, N+)."""

PROMPTS = 3_000  # at least, of the step whose draws are allotted


def pool_ends(schedule: Schedule, pass_rates: Sequence[float], shares: Sequence[float]) -> list[Ends]:
    """One law for each pass rate; `shares` are those of the step's prompts that have it."""
    open_: list[dict[Marks, float]] = [{((0, 0),): 1.0} for _ in pass_rates]
    closed: list[dict[Marks, float]] = [{} for _ in pass_rates]
    stops = cache(lambda marks: _stops(schedule, marks))
    while True:
        cells = [(i, marks, chance) for i, laws in enumerate(open_) for marks, chance in laws.items()]
        done = [(i, marks, chance) for i, laws in enumerate(closed) for marks, chance in laws.items()]
        budgets = _allotted(schedule, cells, done, pass_rates, shares)
        if not any(budget > marks[-1][0] for (_, marks, _), found in zip(cells, budgets, strict=True) for budget in found):
            break
        open_ = [{} for _ in pass_rates]
        for (i, marks, chance), found in zip(cells, budgets, strict=True):
            for budget, share in found.items():
                _draw(schedule.check_every, stops, marks, chance * share, budget, pass_rates[i], open_[i], closed[i])
    return [_counts(open_[i], closed[i]) for i in range(len(pass_rates))]


Cell = tuple[int, Marks, float]


def _allotted(
    schedule: Schedule, cells: Sequence[Cell], done: Sequence[Cell], pass_rates: Sequence[float], shares: Sequence[float]
) -> list[dict[int, float]]:
    """For each open cell: the budgets its pools get, with the share of its pools that get them."""
    if not cells:
        return []
    every = [*cells, *done]
    weights = [shares[i] * chance for i, _, chance in every]
    prompts = max(PROMPTS, min(20 * len(every), 10 * PROMPTS), 2 * len(every))
    copies = allocate(weights, prompts, 1, prompts)
    pools = [pool_at(marks, pass_rates[i]) for i, marks, _ in every]
    for pool in pools[len(cells) :]:
        pool.outcome = "resolved"
    budgets = schedule.budgets([pool for pool, times in zip(pools, copies, strict=True) for _ in range(times)])
    found, start = [], 0
    for times in copies[: len(cells)].tolist():
        found.append({budget: count / times for budget, count in Counter(budgets[start : start + times]).items()})
        start += times
    return found


def _draw(
    check_every: int,
    stops: Callable[[Marks], float],
    marks: Marks,
    chance: float,
    budget: int,
    p: float,
    open_: dict[Marks, float],
    closed: dict[Marks, float],
) -> None:
    """Draws up to the budget, with a look at the stop rule every `check_every` draws and at the end, as the collector does."""
    drawn, right = marks[-1]
    going = {right: chance}
    while drawn < budget:
        then = min(budget, (drawn // check_every + 1) * check_every)
        reached: dict[int, float] = {}
        for k, probability in going.items():
            for more in range(then - drawn + 1):
                reached[k + more] = reached.get(k + more, 0.0) + probability * _binomial(then - drawn, more, p)
        drawn, going = then, {}
        for k, probability in reached.items():
            now = (*marks, (drawn, k))
            ends = stops(now)
            if ends > 0:
                closed[now] = closed.get(now, 0.0) + probability * ends
            if ends < 1:
                going[k] = probability * (1 - ends)
    for k, probability in going.items():
        now = (*marks, (drawn, k)) if drawn > marks[-1][0] else marks
        open_[now] = open_.get(now, 0.0) + probability


def _stops(schedule: Schedule, marks: Marks) -> float:
    """Probability that the stop rule ends the pool here; only never-give-up throws a coin."""
    pool = pool_at(marks)
    if isinstance(schedule, NeverGiveUp) and not pool.right and pool.drawn < schedule.max_draws:
        return 1 - schedule.again
    return float(schedule.stop(pool) is not None)


def _binomial(count: int, right: int, p: float) -> float:
    return float(comb(count, right) * p**right * (1 - p) ** (count - right))


def _counts(*laws: dict[Marks, float]) -> Ends:
    ends: Ends = {}
    for law in laws:
        for marks, chance in law.items():
            if chance > 0:
                ends[marks[-1]] = ends.get(marks[-1], 0.0) + chance
    return ends
