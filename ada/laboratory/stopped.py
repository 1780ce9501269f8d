"""What is read off a pool that stopped on what was drawn: the mean of N+/N and of Haldane's estimate, and a group's shares of credit."""

from __future__ import annotations

from ada.contracts import Grouping, Schedule
from ada.laboratory.bandit import is_right
from ada.laboratory.credits import coefficients
from ada.laboratory.ends import pool_ends
from ada.laboratory.groups import groups_of
from ada.sampling.schedules.seq import Seq
from ada.trainer.advantages.centred import Centred
from ada.trainer.credit import to_sequences
from ada.trainer.losses.reinforce import Reinforce
from ada.trainer.objectives.linear import Linear


def mean_pass_rate(schedule: Schedule, p: float) -> float:
    """E[N+ / N] of a pool."""
    (ends,) = pool_ends(schedule, [p], [1.0])
    return sum(chance * right / drawn for (drawn, right), chance in ends.items())


def mean_haldane(schedule: Seq, p: float) -> float:
    """E[(K - 1) / (N - 1)] of pools resolved by their K-th right draw, looked at one by one, and of N+ / N of those that meet the cap.

    It is the share of the ways to such a pool whose first draw is right, so its mean is p (Girshick, Mosteller and Savage, 1946).
    """
    if schedule.exit != "pos" or schedule.check_every != 1 or schedule.positives < 2:
        raise ValueError(f"Haldane's estimate needs exit pos, check_every 1 and 2 or more positives, found {schedule}")
    (ends,) = pool_ends(schedule, [p], [1.0])
    return sum(
        chance * ((right - 1) / (drawn - 1) if right == schedule.positives else right / drawn) for (drawn, right), chance in ends.items()
    )


def credit_shares(grouping: Grouping, size: int | None, drawn: int, right: int) -> tuple[float, float]:
    """The shares of right and of wrong answers in a group's sum of |credit|, with the pool's mean as baseline."""
    ((_, group),) = groups_of(grouping, size, drawn, right, None)
    sequences = to_sequences([group], Centred(baseline="pool"), Linear(), "keep")
    sums = {True: 0.0, False: 0.0}
    for sequence, c in zip(sequences, coefficients(sequences, [0.0] * len(sequences), Reinforce()), strict=True):
        sums[is_right(sequence.response_ids[0])] += abs(c)
    return sums[True] / sum(sums.values()), sums[False] / sum(sums.values())
