"""Forecasts against closed forms, numbers by hand, and the real schedules driven by chance."""

from __future__ import annotations

import random

import numpy as np
import pytest

from ada.data.sources import DataError
from ada.sampling.allocation import allocate
from ada.sampling.plan import Sampler, forecast, pool_ends, standard_samplers
from ada.sampling.profile import Profile, beta, read_profile
from ada.sampling.refills import opened_per_group
from ada.sampling.run_profile import costs_of, profile_of
from ada.sampling.schedules.dapo import Dapo
from ada.sampling.schedules.est import Est
from ada.sampling.schedules.ngu import NeverGiveUp
from ada.sampling.schedules.seq import Seq
from ada.sampling.schedules.speed import Speed
from ada.sampling.schedules.two_stage import TwoStage
from ada.sampling.schedules.uniform import Uniform
from ada.types import Draw, Pool, Prompt
from tests.sampling.pools import pool, sample
from tests.sampling.stand_in import StandInEngine, StandInRewards, collector, prompts

B = 3  # prompts of a step; only DAPO minds
HALF = Profile(np.array([0.5]), np.array([1.0]))


def at(*rates: float) -> Profile:
    return Profile(np.array(rates), np.full(len(rates), 1 / len(rates)))


@pytest.mark.parametrize(("a", "b"), [(1.0, 1.0), (0.3, 0.7), (0.2, 3.0), (5.0, 2.0), (0.5, 0.5)])
def test_quadrature_has_the_moments_of_the_beta_law(a, b):
    profile = beta(a, b)
    moment = 1.0
    for m in range(1, 65):
        moment *= (a + m - 1) / (a + b + m - 1)
        assert profile.mean(profile.pass_rates_P**m) == pytest.approx(moment, rel=1e-9)


def test_two_nodes_of_the_uniform_law_are_those_of_gauss_and_legendre():
    profile = beta(1, 1, nodes=2)
    np.testing.assert_allclose(profile.pass_rates_P, [0.5 - 12**-0.5, 0.5 + 12**-0.5])
    np.testing.assert_allclose(profile.weights_P, 0.5)


@pytest.mark.parametrize(("draws", "zero"), [(4, 2 / 5), (8, 2 / 9), (16, 2 / 17)])
def test_grpo_at_the_uniform_law(draws, zero):
    found = forecast(Sampler("", Uniform(draws=draws), draws), beta(1, 1), B)
    assert (found.responses, found.trained) == pytest.approx((draws, draws))
    assert found.zero_gradient == pytest.approx(zero)  # twice the integral of p^n
    assert found.recovered == pytest.approx(2 / 5 - zero)


def test_seq_balance_by_hand():
    """At p = 1/2, one right and one wrong of at most 4, two at a time: half stop at 2; the pool is all alike with 2 / 16."""
    found = forecast(Sampler("", Seq(exit="balance", check_every=2, max_draws=4, positives=1), 2), HALF, B)
    assert (found.responses, found.trained) == pytest.approx((3, 2))
    assert found.zero_gradient == pytest.approx(1 / 8)
    assert found.recovered == pytest.approx(0)  # the first 4 draws are all it can have


def test_seq_pos_in_rounds_of_two():
    """At p = 1/2: RR stops, and so is all right. It would have gone on RR to four alike with 1/16: neither recovered nor lost."""
    found = forecast(Sampler("", Seq(exit="pos", check_every=2, max_draws=6, positives=1), None), HALF, B)
    assert found.responses == pytest.approx(2 * 3 / 4 + 4 * 3 / 16 + 6 * 1 / 16)
    assert found.zero_gradient == pytest.approx(1 / 4 + 1 / 64)  # RR, WWWWWW
    assert found.recovered == pytest.approx(3 / 64)  # WWWW, then one right of two


def test_est_by_hand():
    """Shares (p + eps)^-1/2 of 0.25 and 1 are 2 : 1; of 9 on average, 12 and 6."""
    schedule = Est(mean_draws=9, exponent=0.5, epsilon=1e-12, min_draws=1, max_draws=20)
    profile = at(0.25, 1.0)
    ends = pool_ends(schedule, profile.pass_rates_P, profile)
    np.testing.assert_allclose(ends.expected_draws_P, [12, 6])
    found = forecast(Sampler("", schedule, None), profile, B)
    assert found.zero_gradient == pytest.approx((0.75**12 + 0.25**12 + 1) / 2)
    assert found.recovered == pytest.approx((0.75**4 + 0.25**4 - 0.75**12 - 0.25**12) / 2)
    assert (found.responses, found.trained) == pytest.approx((9, 9))


def test_est_splits_a_share_between_two_integers():
    ends = pool_ends(Est(mean_draws=2.25, min_draws=1, max_draws=8), np.array([0.5]), HALF)
    assert ends.draws_T[ends.ends_PT[0] > 1e-9].tolist() == [2, 3]
    assert ends.ends_PT[0, 1:3] == pytest.approx([0.75, 0.25])
    assert ends.zero_gradient_P[0] == pytest.approx(0.75 / 2 + 0.25 / 4)
    assert ends.recovered_P(np.array([0.5]))[0] == pytest.approx(0)  # what ends before the fourth draw recovers nothing


@pytest.mark.parametrize("schedule", [Est(epsilon=0.02), Est(mean_draws=5, exponent=1.0, min_draws=3, max_draws=9)])
def test_est_agrees_with_the_allocation_of_many_prompts(schedule):
    rates = np.random.default_rng(0).beta(0.5, 1.5, 4000)
    profile = Profile(rates, np.full(4000, 1 / 4000))
    drawn = allocate(
        (rates + schedule.epsilon) ** -schedule.exponent, round(schedule.mean_draws * 4000), schedule.min_draws, schedule.max_draws
    )
    ends = pool_ends(schedule, rates, profile)
    assert np.abs(ends.expected_draws_P - drawn).max() <= 1.01
    assert ends.expected_draws_P.mean() == pytest.approx(drawn.mean(), rel=1e-6)
    exact = (rates**drawn + (1 - rates) ** drawn).mean()
    assert profile.mean(ends.zero_gradient_P) == pytest.approx(exact, abs=2e-3)


def test_never_give_up_by_hand():
    """At p = 1/2, two at a time, at most 4, again with q = 1/2: WW goes on with 1/8 of all."""
    found = forecast(Sampler("", NeverGiveUp(check_every=2, max_draws=4, again=0.5), None), HALF, B)
    assert found.responses == pytest.approx(2 + 2 / 8)
    assert found.zero_gradient == pytest.approx(1 / 4 + 1 / 8 + 1 / 32)  # RR; WW given up; WW WW
    assert found.recovered == pytest.approx(0)


def test_two_stage_by_hand():
    """At p = 1/2 after one draw each: 1/sqrt(p) is 1 for right and 2 for wrong (floor 1/4); 3 more on average are 2 and 4."""
    schedule = TwoStage(explore=1, mean_draws=4, max_draws=10, rule="raft", floor=0.25)
    found = forecast(Sampler("", schedule, None, positives_only=True), HALF, B)
    assert (found.responses, found.trained) == pytest.approx((4, 2))
    assert found.zero_gradient == pytest.approx(1 / 2 / 4 + 1 / 2 / 16)
    dropped = forecast(Sampler("", schedule, None, positives_only=True, drops_zero_variance=True), HALF, B)
    assert dropped.trained == pytest.approx(2 - 3 / 8)  # without the 3 of RRR


def test_two_stage_with_a_baseline_gives_nothing_to_what_is_always_right():
    schedule = TwoStage(explore=2, mean_draws=4, max_draws=32, rule="baseline", floor=0.1)
    profile = at(0.0, 1.0)
    ends = pool_ends(schedule, profile.pass_rates_P, profile)
    np.testing.assert_allclose(ends.expected_draws_P, [6, 2], atol=1e-6)


def test_dapo_by_hand():
    """Of pools of two at p = 1/2, half are valid. Two groups of four prompts at most: the third is opened with 3/4, the fourth with 1/2."""
    found = forecast(Sampler("", Dapo(inner=Uniform(draws=2), max_gen_batches=2), 2, drops_zero_variance=True), HALF, 2)
    opened, valid = 2 + 3 / 4 + 1 / 2, (1 * 4 + 2 * 11) / 16  # of four prompts one valid in 4/16, two or more in 11/16
    assert (found.responses, found.trained) == pytest.approx((2 * opened / 2, 2 * valid / 2))
    assert found.zero_gradient == pytest.approx(1 - valid / 2)


def test_dapo_without_a_cap_that_matters_opens_one_prompt_for_each_without_a_signal():
    """The mean of a negative binomial law, whatever the number of groups; and all that the cap allows where nothing is ever valid."""
    np.testing.assert_allclose(
        [opened_per_group(np.array([0.25, 1.0, 0.0]), groups, 40) for groups in (1, 32)], [[4, 1, 40]] * 2, rtol=1e-4
    )


@pytest.mark.parametrize(
    "schedule",
    [Dapo(inner=Uniform(draws=4), max_gen_batches=2), Dapo(inner=Seq(check_every=2, max_draws=6, positives=1), max_gen_batches=2)],
)
def test_dapo_driven_by_chance_through_the_collector(schedule):
    """Steps of three prompts, half of them of p = 0.05 and half of 0.6; refilled as in a run."""
    count, seen = 300, []
    for step in range(count):
        pools, _ = collector(StandInEngine(hard_or_easy, "together"), StandInRewards("together")).collect(
            "step", prompts(B, f"step{step}"), schedule, refill=lambda pools, step=step: more(schedule, pools, f"step{step}")
        )
        seen.append((sum(p.drawn for p in pools) / B, sum(p.drawn for p in pools if p.right and p.wrong) / B, has_no_signal(pools)))
    found = forecast(Sampler("", schedule, None, drops_zero_variance=True), at(0.05, 0.6), B)
    error = np.std(seen, axis=0) / np.sqrt(count)
    assert (np.abs(np.mean(seen, axis=0) - [found.responses, found.trained, found.zero_gradient]) <= 4 * error).all()
    assert found.zero_gradient > 0.02  # the cap is met


def hard_or_easy(draw: Draw) -> str:
    return "R" if random.Random(draw.seed).random() < random.Random(draw.prompt.id).choice([0.05, 0.6]) else "W"


def more(schedule: Dapo, pools: list[Pool], label: str) -> list[Prompt]:
    return prompts(len(pools) + schedule.wanted(pools, B), label)[len(pools) :]


def has_no_signal(pools: list[Pool]) -> float:
    return 1 - sum(pool.right > 0 and pool.wrong > 0 for pool in pools) / B


@pytest.mark.parametrize(
    "schedule",
    [
        Seq(exit="pos", positives=1, check_every=3, max_draws=9),
        NeverGiveUp(check_every=4, max_draws=12),
        Seq(check_every=4),
        Speed(screen=3, draws=9),
    ],
)
@pytest.mark.parametrize("p", [0.1, 0.7])
def test_the_schedule_driven_by_chance(schedule, p):
    dice, count = np.random.default_rng(1), 1500
    strings = ["".join(np.where(dice.random(40) < p, "R", "W")) for _ in range(count)]
    ends = [sample(schedule, [pool("", seed=i)], [string])[0] for i, string in enumerate(strings)]
    flat = np.array([end.right in (0, end.drawn) for end in ends])
    recovered = ~flat & np.array([len(set(string[:4])) == 1 for string in strings])
    found = forecast(Sampler("", schedule, None), at(p), B)
    for exact, seen in ((found.responses, [end.drawn for end in ends]), (found.zero_gradient, flat), (found.recovered, recovered)):
        assert abs(np.mean(seen) - exact) <= 4 * np.std(seen) / np.sqrt(count) + 1e-3


def test_step_time_by_hand():
    """The paper's 102 s, 15 of them for the update: n8 takes twice as long in both, and 16 drawn with 4 trained takes 87 * 4 + 15."""
    n4, n8, wide = (forecast(Sampler("", Uniform(draws=d), size), HALF, B) for d, size in ((4, 4), (8, 8), (16, 4)))
    assert n8.step_time(n4, 87, 15) == pytest.approx(2)
    assert wide.step_time(n4, 87, 15) == pytest.approx((87 * 4 + 15) / 102)


def test_standard_samplers_are_the_papers():
    found = {s.label: forecast(s, at(0.0), B) for s in standard_samplers()}
    assert {label: f.responses for label, f in found.items()} == pytest.approx(
        {
            "GRPO-n4": 4,
            "GRPO-n8": 8,
            "GRPO-n16": 16,
            "Seq-pos": 32,
            "Seq-balance": 32,
            "Est": 8,
            "DAPO": 40,  # ten times as many prompts, in vain
            "Seq-balance+DAPO": 320,
            "GVM-RAFT": 8,
            "NGU": 8 * (2 - 2**-7),  # again with 1/2, at most 8 times
        }
    )
    assert all(f.zero_gradient == 1 and f.recovered == 0 for f in found.values())


def test_files_of_pass_rates(tmp_path):
    path = tmp_path / "rates"
    path.write_text('0.25\n\n{"id": 7, "pass_rate": 0.25}\n1\n')
    profile = read_profile(str(path))
    assert profile.pass_rates_P.tolist() == [0.25, 1.0] and profile.weights_P == pytest.approx([2 / 3, 1 / 3])
    np.testing.assert_array_equal(read_profile(" beta(1, 2.5) ").weights_P, beta(1, 2.5).weights_P)


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("0.5\n1.5\n", "line 2: found 1.5; a pass rate is a number from 0 to 1"),
        ("half\n", "line 1: found 'half'"),
        ('{"p": 0.5}\n', r"line 1: no key 'pass_rate'; the object has \['p'\]"),
        ("nan\n", "line 1: found"),
        ("true\n", "line 1: found True"),
        ("\n", "no pass rates"),
    ],
)
def test_bad_files_are_told_by_line(tmp_path, content, complaint):
    path = tmp_path / "rates"
    path.write_text(content)
    with pytest.raises(DataError, match=complaint):
        read_profile(str(path))


@pytest.mark.parametrize("text", ["beta(0,1)", "beta(1,x)", "beta(1,inf)", "nowhere.txt"])
def test_bad_laws_are_refused(text):
    with pytest.raises(DataError, match="pass rates"):
        read_profile(text)


def rows(*visits):
    return [{"step": i, "prompts": [f"p/{j}" for j in range(len(v))], "verdicts": v} for i, v in enumerate(visits, start=1)]


def test_a_runs_profile_is_that_of_its_prompts_not_of_the_noise_of_few_draws():
    """4 draws of p = 1/2 are anything from 0 to 4 right; the likeliest law is a point at 1/2 all the same. The last visit counts."""
    dice = np.random.default_rng(3)
    profile = profile_of(rows(["W"] * 4000, ["".join(np.where(dice.random(4) < 0.5, "R", "W")) for _ in range(4000)]))
    assert profile.mean(profile.pass_rates_P) == pytest.approx(0.5, abs=0.02)
    assert np.sqrt(profile.mean((profile.pass_rates_P - 0.5) ** 2)) < 0.06  # the counts' own spread is 0.25


def test_a_runs_profile_does_not_mind_that_sampling_stopped_at_the_first_right_answer():
    """Half of the prompts at p = 0.1, half at 0.6, drawn until right, 200 at most: N+/N would have 0.26 and 0.76 in the mean."""
    dice = np.random.default_rng(4)
    verdicts = ["W" * (int(dice.geometric(p)) - 1) + "R" for p in [0.1, 0.6] * 3000]
    profile = profile_of(rows(verdicts))
    assert profile.mean(profile.pass_rates_P) == pytest.approx(0.35, abs=0.02)
    assert profile.mean(profile.pass_rates_P**2) == pytest.approx((0.01 + 0.36) / 2, abs=0.02)


def test_prompts_never_and_always_right_are_kept_apart():
    profile = profile_of(rows(["R" * 300, "W" * 300, "W" * 300, "F"]))
    assert profile.weights_P[0] == pytest.approx(2 / 3, abs=0.01) and profile.weights_P[-1] == pytest.approx(1 / 3, abs=0.01)
    with pytest.raises(DataError, match="no draw with a verdict"):
        profile_of(rows(["F"]))


def test_costs_of_a_run_need_a_step_that_trained():
    with pytest.raises(DataError, match="nothing of costs"):
        costs_of([{"step": 1, "time/update": 1.0, "time/rollout": 1.0, "sampling/responses": 8, "sampling/trained": 0}])
