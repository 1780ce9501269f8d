"""What theory says of an estimator's expected gradient, at every pass rate; the exact weights against it."""

from __future__ import annotations

import numpy as np
import pytest

from ada.laboratory.bandit import Bandit
from ada.laboratory.estimator import Estimator
from ada.laboratory.moments import moments
from ada.sampling.groups.balanced import Balanced
from ada.sampling.groups.max_variance import MaxVariance
from ada.sampling.groups.positives import Positives
from ada.sampling.groups.random import Random
from ada.sampling.pool_law import pool_law
from ada.sampling.schedules.est import Est
from ada.sampling.schedules.seq import Seq
from ada.sampling.schedules.two_stage import TwoStage
from ada.sampling.schedules.uniform import Uniform
from ada.trainer.advantages.centred import Centred
from ada.trainer.advantages.maxrl import MaxRL
from ada.trainer.advantages.rlzvp import RLZVP
from ada.trainer.advantages.signed import Signed
from ada.trainer.losses.clipped import Clipped
from ada.trainer.losses.raft import RAFT
from ada.trainer.objectives.log import Log
from ada.trainer.objectives.power import Power

P = np.array([0.02, 0.1, 0.5, 0.9])
BELIEF, LEAVE_ONE_OUT = Centred(baseline="belief"), Centred(baseline="leave_one_out")
POS = Seq(exit="pos", check_every=4, max_draws=32, positives=1)
BALANCE = Seq(exit="balance", check_every=4, max_draws=32, positives=2)


def found(estimator: Estimator, p=P):
    return moments(estimator, list(p), [1 / len(p)] * len(p))


def weights(estimator: Estimator, p=P) -> np.ndarray:
    """Of the sum over a prompt's trained responses."""
    return np.array([m.weight for m in found(estimator, p)])


@pytest.mark.parametrize("draws", [2, 5])
def test_leaving_one_out_is_unbiased_for_the_pass_rate(draws):
    np.testing.assert_allclose(weights(Estimator(Uniform(draws=draws), advantage=LEAVE_ONE_OUT)), draws)


@pytest.mark.parametrize("baseline", ["pool", "group"])
@pytest.mark.parametrize("draws", [2, 5])
def test_a_mean_with_the_own_reward_in_it_shortens_the_gradient(draws, baseline):
    np.testing.assert_allclose(weights(Estimator(Uniform(draws=draws), advantage=Centred(baseline=baseline))) / draws, (draws - 1) / draws)


@pytest.mark.parametrize("schedule", [POS, BALANCE, Uniform(draws=3)])
def test_a_baseline_from_before_sampling_weighs_a_prompt_by_its_draws(schedule):
    """Wald's identity: whether a draw is made depends on those before it only, so sum over draws of (r - b) s has the mean E[N] grad p."""
    law = pool_law(schedule, P)
    np.testing.assert_allclose(weights(Estimator(schedule, advantage=BELIEF)), law.draws_PT @ law.draws_T)


@pytest.mark.parametrize("schedule", [POS, TwoStage()])
def test_raft_weighs_a_prompt_by_its_draws(schedule):
    of = found(Estimator(schedule, group=Positives(), loss=RAFT()))
    np.testing.assert_allclose([m.weight for m in of], [m.drawn for m in of])


def test_one_draw_at_a_time_until_a_right_one_is_the_log_objective():
    schedule = Seq(exit="pos", check_every=1, max_draws=64, positives=1)
    np.testing.assert_allclose(weights(Estimator(schedule, advantage=BELIEF)), (1 - (1 - P) ** 64) / P)


@pytest.mark.parametrize("loss", [Clipped(), RAFT()])
def test_only_raft_forgets_the_advantage(loss):
    weight = weights(Estimator(Uniform(draws=4), loss=loss))
    # -log pi of all answers, right or not: its mean gradient is 0, as the score's is
    np.testing.assert_allclose(weight, 3.0 if loss == Clipped() else 0.0, atol=1e-12)


def test_maxrl_is_the_log_objective_cut_off_after_n_minus_1_terms():
    """(r - mean) / mean, summed: N - N+ for either side where any is right; 1/p = sum over j of (1 - p)^j."""
    terms = sum((1 - P) ** j for j in range(15))
    np.testing.assert_allclose(weights(Estimator(Uniform(draws=16), advantage=MaxRL())) / 16, terms)


def test_maxrl_is_the_plugged_in_log_objective():
    plugged_in = weights(Estimator(Uniform(draws=16), advantage=LEAVE_ONE_OUT, objective=Log(floor=1 / 16)))
    np.testing.assert_allclose(plugged_in * 15 / 16, weights(Estimator(Uniform(draws=16), advantage=MaxRL())))


def test_rewards_of_1_and_minus_1_are_unbiased_until_pools_of_one_outcome_are_rejected():
    """2 r - 1 has twice the reward's gradient; a rejected pool would have given N / p (all right) or N / (1 - p) (all wrong)."""
    kept, rejected = (weights(Estimator(Uniform(draws=8), advantage=Signed(), zero_variance=z)) for z in ("keep", "reject"))
    np.testing.assert_allclose(kept, 16)
    np.testing.assert_allclose(rejected, 16 - 8 * P**7 - 8 * (1 - P) ** 7)


def test_rlzvp_adds_the_entropy_of_pools_all_right():
    """A response of one token has its entropy as its own maximum, so pools all wrong add nothing; all right, n alpha H with chance p^n."""
    plain, guided = (weights(Estimator(Uniform(draws=3), advantage=a)) for a in (Centred(baseline="group", scale="std"), RLZVP(alpha=0.1)))
    np.testing.assert_allclose(guided - plain, [3 * 0.1 * Bandit(p).entropy * p**2 for p in P])


@pytest.mark.parametrize("group", [Random(), Balanced(importance=True), MaxVariance(importance=True)])
def test_a_part_that_stands_for_the_pool_has_its_direction(group):
    """Given the pool, the mean over the group is that of the pool, whose own mean as baseline costs 1/32."""
    np.testing.assert_allclose(weights(Estimator(Uniform(draws=32), group=group, size=4)) / 4, 31 / 32)


@pytest.mark.parametrize("group", [Balanced(), MaxVariance()])
def test_a_balanced_group_of_a_large_pool_is_near_the_logit(group):
    """n/2 right answers with credit 1 - p and n/2 wrong ones with -p: ((1 - p)/p + p/(1 - p))/2 = 1/(2p(1 - p)) - 1 per response."""
    p = np.array([0.2, 0.5, 0.8])
    found = weights(Estimator(Uniform(draws=60), group=group, size=4), p) / 4
    np.testing.assert_allclose(found, 1 / (2 * p * (1 - p)) - 1, rtol=0.002)


def test_dividing_by_the_deviation_of_a_large_group():
    p = np.array([0.2, 0.5, 0.8])
    found = weights(Estimator(Uniform(draws=64), advantage=Centred(scale="std")), p) / 64
    np.testing.assert_allclose(found, 1 / np.sqrt(p * (1 - p)), rtol=0.03)


def test_implicit_est_weighs_a_prompt_by_what_it_is_allotted():
    """gamma = 1: shares 10 : 5 : 2 of 42 draws for three prompts, 24.7, 12.4 and 4.9 each; the largest remainders are rounded up."""
    schedule = Est(exponent=1.0, epsilon=1e-9, mean_draws=14.0, min_draws=2, max_draws=1000)
    of = found(Estimator(schedule, advantage=BELIEF), np.array([0.1, 0.2, 0.5]))
    assert [m.drawn for m in of] == pytest.approx([25, 12, 5])
    assert [m.weight for m in of] == pytest.approx([25, 12, 5])


def test_hybrid_est_is_the_log_objective_where_draws_abound():
    """Stated terms: epsilon, bounds and integers (here none to speak of), and 1/sqrt of an observed mean, which is right for many draws."""
    p = np.array([0.2, 0.5, 0.8])

    def off(mean_draws: float) -> float:
        schedule = Est(exponent=0.5, epsilon=1e-9, mean_draws=mean_draws, min_draws=1, max_draws=10**6)
        flat = p * weights(Estimator(schedule, objective=Power(alpha=0.5)), p)
        return float(flat.max() / flat.min() - 1)

    assert off(100.0) < 0.03
    assert 0.06 < off(8.0) < 0.4


def test_importance_mends_all_of_a_stopped_pools_balanced_group_but_its_own_mean():
    plain, mended = (weights(Estimator(BALANCE, group=Balanced(importance=i), size=4)) for i in (False, True))
    assert plain.max() / plain.min() > 6 and mended.max() / mended.min() < 1.4


def test_the_expected_gradient_is_nothing_where_no_answer_is_ever_right_or_wrong():
    of = found(Estimator(POS, group=Balanced(), size=4), [0.0, 1.0])
    assert [(m.weight, m.squared_mean, m.variance, m.drawn) for m in of] == [(0, 0, 0, 32), (0, 0, 0, 4)]
