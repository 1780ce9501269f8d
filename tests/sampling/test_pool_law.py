"""The exact law of a pool against closed forms, all outcome strings, and the real schedules driven by chance."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from ada.sampling.plan import pool_ends
from ada.sampling.pool_law import pool_law
from ada.sampling.profile import Profile
from ada.sampling.schedules.seq import Seq
from ada.sampling.schedules.uniform import Uniform
from tests.sampling.pools import pool, sample

RATES = np.array([0.0, 0.03, 0.3, 0.5, 0.85, 1.0])


def ends_of(schedule, pass_rates):
    pass_rates = np.asarray(pass_rates)
    return pool_ends(schedule, pass_rates, Profile(pass_rates, np.full(len(pass_rates), 1 / len(pass_rates))))


@pytest.mark.parametrize("needed", [1, 3])
def test_one_at_a_time_without_a_cap_costs_k_over_p(needed):
    p = np.array([0.1, 0.4, 1.0])
    ends = ends_of(Seq(exit="pos", check_every=1, max_draws=600, positives=needed), p)
    np.testing.assert_allclose(ends.expected_draws_P, needed / p, rtol=1e-9)


def test_first_right_answer_in_rounds_is_geometric():
    ends = ends_of(Seq(exit="pos", check_every=8, max_draws=32, positives=1), RATES)
    np.testing.assert_allclose(ends.expected_draws_P, 8 * sum((1 - RATES) ** (8 * i) for i in range(4)))
    np.testing.assert_allclose(ends.all_right_PT.sum(-1), RATES**8)
    np.testing.assert_allclose(ends.all_wrong_PT.sum(-1), (1 - RATES) ** 32)


def test_uniform():
    ends = ends_of(Uniform(draws=4), RATES)
    np.testing.assert_allclose(ends.zero_gradient_P, RATES**4 + (1 - RATES) ** 4)
    assert ends.draws_T.tolist() == [4]
    np.testing.assert_allclose(ends.expected_draws_P, 4)


def test_balance_is_dear_at_both_ends():
    ends = ends_of(Seq(exit="balance", check_every=8, max_draws=32, positives=2), [0.02, 0.1, 0.5, 0.9, 0.98])
    np.testing.assert_allclose(ends.expected_draws_P, ends.expected_draws_P[::-1])
    assert ends.expected_draws_P[0] > ends.expected_draws_P[1] > ends.expected_draws_P[2]


SCHEDULES = [
    Seq(exit="balance", check_every=1, max_draws=6, positives=2),
    Seq(exit="balance", check_every=2, max_draws=8, positives=1, negatives=3),
    Seq(exit="balance", check_every=4, max_draws=8, positives=3, negatives=1),
    Seq(exit="pos", check_every=3, max_draws=9, positives=2),
    Uniform(draws=5),
]


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_every_string_of_outcomes(schedule):
    law = pool_law(schedule, RATES)
    cap = int(law.draws_T[-1])
    expected = np.zeros_like(law.stopped_PTK)
    for outcomes in product("RW", repeat=cap):
        (end,) = sample(schedule, [pool("")], [outcomes])
        chance = RATES ** outcomes.count("R") * (1 - RATES) ** outcomes.count("W")
        expected[:, law.draws_T.tolist().index(end.drawn), end.right] += chance
    np.testing.assert_allclose(law.stopped_PTK, expected, atol=1e-12)


@pytest.mark.parametrize("schedule", [Seq(), Seq(exit="pos", positives=1), Seq(check_every=1, max_draws=40, positives=2)])
@pytest.mark.parametrize("p", [0.04, 0.5, 0.9])
def test_the_schedule_driven_by_chance(schedule, p):
    random, count = np.random.default_rng(0), 1500
    ends = [sample(schedule, [pool("")], [np.where(random.random(40) < p, "R", "W")])[0] for _ in range(count)]
    exact = ends_of(schedule, [p])
    drawn = np.array([end.drawn for end in ends])
    assert abs(drawn.mean() - exact.expected_draws_P[0]) <= 4 * drawn.std() / np.sqrt(count) + 1e-3
    silent, seen = exact.zero_gradient_P[0], np.mean([end.right in (0, end.drawn) for end in ends])
    assert abs(seen - silent) <= 4 * np.sqrt(silent * (1 - silent) / count) + 1e-3


def test_laws_add_up_to_one():
    law = pool_law(Seq(check_every=16, max_draws=128, positives=8), np.linspace(0, 1, 21))
    np.testing.assert_allclose(law.draws_PT.sum(1), 1)
    with pytest.raises(ValueError, match="from 0 to 1, found"):
        pool_law(Uniform(), [0.5, 1.5])
