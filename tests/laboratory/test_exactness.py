"""The exact laws and moments against enumeration of all that can be drawn, and against the forecasts of `ada plan`."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest

from ada.laboratory.bandit import ARMS, Bandit, is_right
from ada.laboratory.ends import pool_ends
from ada.laboratory.estimator import Estimator
from ada.laboratory.groups import groups_of
from ada.laboratory.moments import moments
from ada.laboratory.pools import attempt, pool_of
from ada.laboratory.stopped import credit_shares, mean_haldane, mean_pass_rate
from ada.sampling import plan
from ada.sampling.grouping import group_of, importance_weights
from ada.sampling.groups.all import All
from ada.sampling.groups.balanced import Balanced
from ada.sampling.groups.random import Random
from ada.sampling.pool_law import pool_law
from ada.sampling.profile import Profile
from ada.sampling.schedules.est import Est
from ada.sampling.schedules.ngu import NeverGiveUp
from ada.sampling.schedules.seq import Seq
from ada.sampling.schedules.two_stage import TwoStage
from ada.sampling.schedules.uniform import Uniform
from ada.trainer.advantages.centred import Centred
from ada.trainer.credit import credit
from ada.trainer.objectives.linear import Linear
from ada.trainer.objectives.log import Log
from ada.types import Group, Pool

P = [0.05, 0.3, 0.8]


def scores(group: Group, p: float) -> np.ndarray:
    """[responses, arms]: gradient of log softmax."""
    return np.stack([np.eye(ARMS)[a.response.token_ids[0]] - Bandit(p).law_A for a in group.attempts])


def test_the_bandit_is_a_softmax():
    bandit, step = Bandit(0.3), 1e-6
    logits = np.log(bandit.law_A)

    def pass_rate(x):
        return (np.exp(x) / np.exp(x).sum())[:2].sum()

    quotient = [(pass_rate(logits + step * e) - pass_rate(logits - step * e)) / (2 * step) for e in np.eye(ARMS)]
    np.testing.assert_allclose(bandit.gradient_A, quotient, atol=1e-9)
    assert bandit.law_A.sum() == pytest.approx(1) and [is_right(a) for a in range(ARMS)] == [True, True, False, False, False]


@pytest.mark.parametrize("advantage", [Centred(baseline="pool"), Centred(baseline="leave_one_out", scale="std")])
@pytest.mark.parametrize("schedule", [Uniform(draws=4), Seq(exit="pos", check_every=1, max_draws=4, positives=1)])
def test_every_string_of_arms(schedule, advantage):
    """Mean and covariance of the gradient by enumeration of all 625 strings of four arms, each cut where the schedule stops."""
    p = 0.3
    law = Bandit(p).law_A
    mean, square = np.zeros(ARMS), 0.0
    for arms in product(range(ARMS), repeat=4):
        pool: Pool = pool_of([])
        for draw, arm in enumerate(arms):
            pool.attempts.append(attempt(arm, draw))
            if pool.drawn % schedule.check_every == 0 and schedule.stop(pool):
                break
        group = group_of(pool, All(), None, 0)
        gradient = np.array(credit(group, advantage, Log())) @ scores(group, p)
        mean += law[list(arms)].prod() * gradient
        square += law[list(arms)].prod() * (gradient @ gradient)
    (found,) = moments(Estimator(schedule, advantage=advantage, objective=Log()), [p], [1.0])
    np.testing.assert_allclose(found.weight * Bandit(p).gradient_A, mean, atol=1e-12)
    assert found.variance == pytest.approx(square - mean @ mean)


def test_given_the_pool_the_importance_corrected_group_is_unbiased_for_it_and_the_plain_one_is_not():
    """All C(3,2) C(5,2) balanced groups of one pool of 3 right and 5 wrong answers, by their arms."""
    p, arms = 0.4, [0, 1, 0, 2, 2, 3, 4, 3]
    pool = pool_of([])
    pool.attempts += [attempt(arm, draw) for draw, arm in enumerate(arms)]
    whole = group_of(pool, All(), None, 0)
    of_pool = np.array(credit(whole, Centred(), Linear())) @ scores(whole, p) / 8

    def mean_gradient(importance: bool) -> np.ndarray:
        groups = []
        for chosen in [[*r, *w] for r in combinations(pool.attempts[:3], 2) for w in combinations(pool.attempts[3:], 2)]:
            weights = importance_weights(pool, chosen) if importance else (1.0,) * 4
            group = Group(pool.prompt, tuple(chosen), weights, pool.pass_rate, pool.mean_reward, pool.drawn)
            groups.append(np.array(credit(group, Centred(), Linear())) @ scores(group, p) / 4)
        assert len(groups) == 30
        return np.mean(groups, axis=0)

    np.testing.assert_allclose(mean_gradient(True), of_pool, atol=1e-12)
    assert np.abs(mean_gradient(False) - of_pool).max() > 0.1 * np.abs(of_pool).max()


@pytest.mark.parametrize("right", [2, 8, 20])
def test_a_balanced_group_pulls_as_the_rarer_outcome(right):
    assert credit_shares(Balanced(), 4, 32, right) == pytest.approx((1 - right / 32, right / 32))
    assert credit_shares(All(), None, 32, right) == pytest.approx((0.5, 0.5))


def test_random_parts_are_hypergeometric():
    parts = {sum(a.right for a in group.attempts): chance for chance, group in groups_of(Random(), 3, 7, 2, None)}
    assert parts == pytest.approx({0: 10 / 35, 1: 20 / 35, 2: 5 / 35})


@pytest.mark.parametrize("schedule", [Uniform(draws=5), Seq(check_every=4, max_draws=12), Seq(exit="pos", check_every=3, max_draws=9)])
def test_laws_of_pools_by_asking_the_schedule_are_those_by_its_rule(schedule):
    law = pool_law(schedule, P)
    for i, ends in enumerate(pool_ends(schedule, P, [1 / 3] * 3)):
        for t, drawn in enumerate(law.draws_T.tolist()):
            for right in range(drawn + 1):
                assert ends.get((drawn, right), 0.0) == pytest.approx(law.stopped_PTK[i, t, right], abs=1e-12)


@pytest.mark.parametrize(
    ("schedule", "tolerance"), [(NeverGiveUp(check_every=4, max_draws=16), 1e-9), (TwoStage(), 0.06), (Est(mean_draws=10.3), 0.06)]
)
def test_laws_of_pools_agree_with_the_forecast(schedule, tolerance):
    """Budgets of a step are in integers here, and in real numbers there."""
    forecast = plan.pool_ends(schedule, np.array(P), Profile(np.array(P), np.full(3, 1 / 3)))
    found = pool_ends(schedule, P, [1 / 3] * 3)
    drawn = [sum(n * chance for (n, _), chance in ends.items()) for ends in found]
    silent = [sum(chance for (n, right), chance in ends.items() if right in (0, n)) for ends in found]
    np.testing.assert_allclose(drawn, forecast.expected_draws_P, rtol=tolerance)
    np.testing.assert_allclose(silent, forecast.zero_gradient_P, rtol=4 * tolerance)
    assert [sum(ends.values()) for ends in found] == pytest.approx([1.0] * 3)


def test_a_stopped_pools_pass_rate_is_too_high_and_haldanes_is_right():
    """K = 1 without a cap: E[1/N] = p log(1/p) / (1 - p)."""
    once, twice = (Seq(exit="pos", check_every=1, max_draws=100, positives=k) for k in (1, 2))
    assert mean_pass_rate(once, 0.2) == pytest.approx(0.2 * np.log(5) / 0.8)
    for p in P:
        assert mean_pass_rate(twice, p) > 1.05 * p
        assert mean_haldane(twice, p) == pytest.approx(p)
        assert mean_haldane(Seq(exit="pos", check_every=1, max_draws=6, positives=3), p) == pytest.approx(p)  # most meet this cap
    with pytest.raises(ValueError, match="check_every 1 and 2 or more positives"):
        mean_haldane(once, 0.2)


def test_a_balance_pool_is_right_at_one_half_alone():
    schedule = Seq(check_every=4, max_draws=32)
    assert mean_pass_rate(schedule, 0.5) == pytest.approx(0.5)
    assert mean_pass_rate(schedule, 0.1) > 0.13 and mean_pass_rate(schedule, 0.9) == pytest.approx(1 - mean_pass_rate(schedule, 0.1))
