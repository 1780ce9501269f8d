"""How many draws of a prompt may run beyond the last look at its stop rule. A window changes what is started, never what is in a pool."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from scipy.special import bdtr  # the binomial distribution function

from ada.contracts import Schedule
from ada.sampling.schedules.dapo import Dapo
from ada.sampling.schedules.seq import Seq
from ada.types import Pool

Window = Callable[[Pool], int]
"""Draws, at least 1; asked when a prompt is opened and after each look at its stop rule."""

GRID = 100  # pass rates are rounded to 1/GRID, so that few windows are ever worked out


def stopping(schedule: Schedule) -> Schedule:
    """The schedule whose stop rule a prompt's draws are under."""
    return schedule.inner if isinstance(schedule, Dapo) else schedule


def fixed(draws: int) -> Window:
    return lambda pool: draws


@dataclass(frozen=True)
class BeliefWindow:
    """The fewest rounds in which the prompt, as believed, resolves with `probability`; all that are left where no number of them does.

    The draws after the last look are independent, right with the believed pass rate: the belief's mean, and what was seen since.
    """

    schedule: Seq
    probability: float

    def __call__(self, pool: Pool) -> int:
        every = self.schedule.check_every
        left = max(every, self.schedule.max_draws - pool.drawn)
        if pool.belief is None:
            return every
        strength = pool.belief.strength + 1  # its prior is worth one response
        pass_rate = (pool.belief.mean * strength + pool.right) / (strength + pool.right + pool.wrong)
        rights = max(0, self.schedule.positives - pool.right)
        wrongs = max(0, self.schedule.wrong_needed - pool.wrong)
        return _draws(round(pass_rate * GRID), rights, wrongs, every, left, self.probability)


@lru_cache(maxsize=100_000)
def _draws(percent: int, rights: int, wrongs: int, every: int, left: int, probability: float) -> int:
    """The least multiple of `every`, at most `left`, of which `rights` are right and `wrongs` wrong with `probability`."""
    p = percent / GRID
    for draws in range(every, left, every):
        too_few = bdtr(rights - 1, draws, p) if rights else 0.0
        if draws >= wrongs and bdtr(draws - wrongs, draws, p) - too_few >= probability:
            return draws
    return left
