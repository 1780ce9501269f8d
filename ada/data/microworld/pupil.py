"""The pupil with misconceptions who writes the base model's corpus.

A critical column is right with probability q, and wrong by a rule otherwise.

A mistake never heals, so the pupil solves a problem with probability q ** (critical columns).
"""

from __future__ import annotations

import random

from ada.data.microworld.task import Column, Operator, Problem, is_critical, response_text, right_column, work

RIGHT_ON_CRITICAL: dict[Operator, dict[int, float]] = {
    "+": {9: 0.80, 8: 0.55, 7: 0.35, 6: 0.15, 5: 0.05},
    "-": {9: 0.65, 8: 0.42, 7: 0.22, 6: 0.08, 5: 0.03},
}
"""q by operator and base."""


def mistaken_column(op: Operator, value: int) -> Column:
    """+ as if in base 10; - the smaller from the larger, without a borrow."""
    return divmod(value, 10) if op == "+" else (0, abs(value))


def attempt(problem: Problem, rng: random.Random) -> str:
    """The pupil's response, without the end token; a carry that was wrongly written or left out is carried on with."""

    def column(base: int, op: Operator, value: int) -> Column:
        if is_critical(base, value) and rng.random() >= RIGHT_ON_CRITICAL[op][base]:
            return mistaken_column(op, value)
        return right_column(base, op, value)

    return response_text(work(problem, column))


def pass_rate(problem: Problem) -> float:
    """p(x) of the pupil: the probability that an attempt is right."""
    return RIGHT_ON_CRITICAL[problem.op][problem.base] ** problem.critical
