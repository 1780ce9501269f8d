"""The collector against a stand-in engine: whatever finishes first, the pools are those of strictly sequential sampling."""

from __future__ import annotations

import itertools
import time

import pytest

from ada.contracts import Schedule
from ada.engine.alone import Alone
from ada.ranks import Ranks
from ada.rewards.service import Verdict
from ada.sampling.collector import Collector, Stopped
from ada.sampling.schedules.dapo import Dapo, refills
from ada.sampling.schedules.est import Est
from ada.sampling.schedules.ngu import NeverGiveUp
from ada.sampling.schedules.seq import Seq
from ada.sampling.schedules.speed import Speed
from ada.sampling.schedules.two_stage import TwoStage
from ada.sampling.schedules.uniform import Uniform
from ada.sampling.windows import BeliefWindow, fixed
from ada.types import PassRate, Response
from tests.sampling.stand_in import StandInEngine, StandInRewards, always, collector, decode, mixed, one_after_the_other, prompts

SCHEDULES: dict[str, Schedule] = {
    "uniform": Uniform(draws=6),
    "balance": Seq(exit="balance", check_every=4, max_draws=32, positives=2),
    "pos": Seq(exit="pos", check_every=4, max_draws=32, positives=1),
    "every draw": Seq(exit="pos", check_every=1, max_draws=9, positives=2),
    "ngu": NeverGiveUp(check_every=4, max_draws=24, again=0.7),
    "speed": Speed(screen=3, draws=7),
    "est": Est(mean_draws=6.5, min_draws=2, max_draws=16),
    "two_stage": TwoStage(explore=3, mean_draws=7, max_draws=20),
    "dapo": Dapo(inner=Uniform(draws=4), max_gen_batches=2),
}
WINDOWS = [None, 1, 2, 4, 5, 8, 16, 32]
ORDERS = ["started", "together", 1, 2]
COUNT = 12


def beliefs(asked):
    return [PassRate(int(prompt.id.rpartition("/")[2]) % 11 / 10, 4.0) for prompt in asked]


def refill_of(schedule, count):
    """New prompts, numbered on, as DAPO asks for them."""

    def refill(pools):
        return prompts(len(pools) + refills(schedule, pools, count))[len(pools) :]

    return refill


def collect(law, schedule, window=None, slots=16, order="started", count=COUNT, name="step-1"):
    engine, rewards = StandInEngine(law, order), StandInRewards(order)
    window = fixed(window) if isinstance(window, int) else window
    pools, cost = collector(engine, rewards, slots).collect(
        name, prompts(count), schedule, window=window, believe=beliefs, refill=refill_of(schedule, count)
    )
    return pools, cost, engine


@pytest.fixture(scope="module")
def sequential():
    asked = prompts(COUNT)
    found = {}
    for name, schedule in SCHEDULES.items():
        refill = refill_of(schedule, COUNT)
        found[name] = one_after_the_other(mixed, schedule, "step-1", asked, beliefs(asked), refill)
        for pool in found[name]:
            pool.belief = beliefs([pool.prompt])[0]
    return found


@pytest.mark.parametrize("slots", [1, 16, 1000])
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_pools_are_those_of_sequential_sampling_A01_A02(sequential, schedule, slots):
    for window, order in itertools.product(WINDOWS, ORDERS):
        pools, _, engine = collect(mixed, SCHEDULES[schedule], window, slots, order)
        assert pools == sequential[schedule], (window, order)
        assert engine.most <= slots
        assert engine.most_of_a_prompt <= (window or SCHEDULES[schedule].check_every)


@pytest.mark.parametrize("schedule", ["balance", "pos", "every draw"])
def test_windows_by_belief_change_no_pool(sequential, schedule):
    for probability, order in itertools.product((0.1, 0.8, 0.99), ORDERS):
        pools, _, _ = collect(mixed, SCHEDULES[schedule], BeliefWindow(SCHEDULES[schedule], probability), order=order)
        assert pools == sequential[schedule], (probability, order)


def test_the_stand_in_has_every_kind_of_draw(sequential):
    attempts = [attempt for pool in sequential["uniform"] for attempt in pool.attempts]
    assert {attempt.failure for attempt in attempts} == {None, "timeout", "engine"}
    assert {attempt.response.finish_reason for attempt in attempts} == {"stop", "length"}
    assert {attempt.right for attempt in attempts} == {True, False}
    assert {pool.outcome for pool in sequential["balance"]} == {"resolved", "exhausted"}
    assert {pool.outcome for pool in sequential["ngu"]} == {"resolved", "exhausted", "gave_up"}


def test_every_draw_is_in_a_pool_or_surplus_A05():
    for schedule, window, order in itertools.product(SCHEDULES.values(), WINDOWS, ORDERS):
        pools, cost, engine = collect(mixed, schedule, window, order=order)
        assert sum(pool.drawn for pool in pools) + cost.surplus == len(engine.submitted)
        assert not engine.running
        for pool in pools:
            assert [attempt.response.draw for attempt in pool.attempts] == list(range(pool.drawn))
        if window in (None, 1):
            assert cost.surplus == 0 == len(engine.aborted)


def test_surplus_draws_are_aborted_and_leave_no_trace():
    """Draws 0 and 1 resolve the prompt; with 8 in flight, 2 to 7 were started. In the order started, each step ends one draw."""
    schedule = Seq(exit="pos", check_every=2, max_draws=8, positives=2)
    pools, cost, engine = collect(always("R"), schedule, window=8, count=1)
    assert [attempt.response.draw for attempt in pools[0].attempts] == [0, 1]
    assert (pools[0].outcome, pools[0].rounds, cost.surplus) == ("resolved", 1, 6)
    assert [draw.index for draw in engine.aborted] == [2, 3, 4, 5, 6, 7]
    assert cost.aborted_tokens == 3 * 6
    assert cost.generated_tokens == cost.aborted_tokens + sum(len(attempt.response.token_ids) for attempt in pools[0].attempts)


def test_tokens_of_finished_surplus_draws_are_counted():
    schedule = Seq(exit="pos", check_every=2, max_draws=8, positives=2)
    pools, cost, engine = collect(always("R"), schedule, window=8, order="together", count=1)
    kept = sum(len(attempt.response.token_ids) for pool in pools for attempt in pool.attempts)
    assert engine.aborted == [] and cost.surplus == 6
    assert cost.generated_tokens > kept


def test_a_draw_that_ends_in_the_same_step_as_the_resolving_one():
    """Draws 0 and 1 end first. The next step ends 2 to 7: the cut-off 3 resolves the prompt while 4 to 7 are still to be handed out."""
    engine = StandInEngine(lambda draw: "RRCCRWRW"[draw.index], order=[2, 6])
    schedule = Seq(exit="balance", check_every=4, max_draws=8, positives=2)
    pools, cost = collector(engine, StandInRewards("together")).collect("step-1", prompts(1), schedule, window=fixed(8))
    assert [attempt.right for attempt in pools[0].attempts] == [True, True, False, False]
    assert (pools[0].outcome, cost.surplus) == ("resolved", 4)


def test_no_prompt_is_lost_where_all_running_draws_are_cut_off():
    """A rank of two opens half of the prompts at first. They all end at once: nothing runs or is scored, and the rest is to be claimed."""

    class SlowPartner(Ranks):
        """The other rank never comes to claim a prompt."""

        def __init__(self):
            super().__init__()
            self.world = 2

        def gather(self, value):
            return [value]

    subject = Collector(StandInEngine(always("C"), "together"), StandInRewards(), decode, SlowPartner(), seed=7, max_concurrent=100)
    pools, _ = subject.collect("step-1", prompts(9), Uniform(draws=2))
    assert [pool.prompt.id for pool in pools] == [f"test/{i}" for i in range(9)]
    assert all(pool.drawn == 2 and pool.wrong == 2 for pool in pools)


def test_two_collectors_of_the_same_ranks_do_not_claim_each_others_prompts():
    ranks = Ranks()
    for name in ("one", "two"):
        engine = StandInEngine(always("R"), "together")
        pools, _ = Collector(engine, StandInRewards(), decode, ranks, seed=7, max_concurrent=100).collect(
            name, prompts(3), Uniform(draws=2)
        )
        assert [pool.drawn for pool in pools] == [2, 2, 2]


def test_cut_off_is_wrong_and_failures_are_neither():
    pools, _, _ = collect(lambda draw: "CTER"[draw.index], Uniform(draws=4), order="together", count=1)
    (pool,) = pools
    assert [attempt.failure for attempt in pool.attempts] == [None, "timeout", "engine", None]
    assert (pool.right, pool.wrong, pool.drawn, pool.pass_rate) == (1, 1, 4, 0.5)


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("kind", "RWCTE")
def test_unsolvable_and_solved_prompts_end_A06(schedule, kind):
    bound = {"uniform": 6, "balance": 32, "pos": 32, "every draw": 9, "ngu": 24, "speed": 7, "est": 16, "two_stage": 20, "dapo": 4}[
        schedule
    ]
    pools, cost, _ = collect(always(kind), SCHEDULES[schedule], count=4)
    assert len(pools) == (8 if schedule == "dapo" else 4)  # at most twice the prompts, as max_gen_batches says
    assert all(0 < pool.drawn <= bound and pool.outcome is not None for pool in pools)


def test_one_live_prompt_among_dead_ones_A06():
    pools, _, _ = collect(lambda draw: "RW"[draw.index % 2] if draw.prompt.id == "test/2" else "W", SCHEDULES["balance"], count=4)
    assert [(pool.drawn, pool.outcome) for pool in pools] == [(32, "exhausted"), (32, "exhausted"), (4, "resolved"), (32, "exhausted")]


def test_dapo_replaces_each_prompt_without_a_signal():
    """0 and 3 are always wrong, 4 always right: 4 and 5 replace the first two, 6 replaces 4."""

    def law(draw):
        return {"test/0": "W", "test/3": "W", "test/4": "R"}.get(draw.prompt.id, "RW"[draw.index % 2])

    pools, _, _ = collect(law, Dapo(inner=Uniform(draws=4), max_gen_batches=3), count=4)
    assert [pool.prompt.id for pool in pools] == [f"test/{i}" for i in range(7)]
    assert [pool.pass_rate for pool in pools] == [0, 0.5, 0.5, 0, 1, 0.5, 0.5]


def test_rounds_are_looks_at_the_stop_rule():
    pools, _, _ = collect(
        lambda draw: "R" if draw.index == 9 else "W", Seq(exit="pos", check_every=4, max_draws=32, positives=1), window=16, count=1
    )
    assert (pools[0].drawn, pools[0].rounds) == (12, 3)


def test_two_stage_has_two_budgets_by_hand():
    """1/sqrt(p) with p = 1/4 and 1 after 4 draws each: 2 to 1 of the 12 that are left of 2 x 10."""
    schedule = TwoStage(explore=4, mean_draws=10, max_draws=32)
    pools, _, _ = collect(lambda draw: "R" if draw.prompt.id == "test/1" or draw.index == 0 else "W", schedule, window=5, count=2)
    assert [(pool.drawn, pool.budget, pool.rounds, pool.outcome) for pool in pools] == [(12, 12, 2, "exhausted"), (8, 8, 2, "exhausted")]


def test_est_divides_one_budget_over_all_prompts():
    pools, _, _ = collect(mixed, SCHEDULES["est"], count=11)
    assert sum(pool.drawn for pool in pools) == round(6.5 * 11)
    assert [pool.drawn for pool in pools] == sorted((pool.drawn for pool in pools), reverse=True)  # believed 0, 0.1, ... 1


def test_draws_of_another_step_are_others():
    first, second = (collect(mixed, SCHEDULES["uniform"], name=name)[0] for name in ("step-1", "step-2"))
    seeds = [{attempt.response.logprobs for pool in pools for attempt in pool.attempts if attempt.text} for pools in (first, second)]
    assert seeds[0] and not seeds[0] & seeds[1]


def test_a_late_verdict_does_not_meet_the_next_step():
    """Surplus draws of step 1 are still with the reward workers in step 2, where the same prompts and draws come again."""

    class Hesitant(StandInRewards):
        """Tells of draws 0 and 1 at once, of others when nothing else is left."""

        def poll(self, wait_seconds=0.0):
            ready = [key for key in self.pending if key[-1] < 2] or ([] if not wait_seconds else list(self.pending))
            return [(key, Verdict(1.0, True)) for key in ready if self.pending.pop(key)]

    rewards = Hesitant()
    both = collector(StandInEngine(always("R"), "together"), rewards)
    schedule = Seq(exit="pos", check_every=2, max_draws=8, positives=2)
    for name in ("step-1", "step-2"):
        pools, _ = both.collect(name, prompts(3), schedule, window=fixed(8))
        assert [(pool.drawn, pool.outcome) for pool in pools] == [(2, "resolved")] * 3
    assert rewards.pending


def test_a_stop_ends_collecting_and_leaves_the_engine_idle():
    engine, rewards = StandInEngine(mixed), StandInRewards()
    stopping = collector(engine, rewards, should_stop=lambda: engine.steps >= 5)
    with pytest.raises(Stopped):
        stopping.collect("step-1", prompts(40), SCHEDULES["balance"], window=fixed(8))
    assert engine.steps == 5 and not engine.running


@pytest.mark.parametrize("schedule", [Uniform(draws=2), Seq(check_every=2, max_draws=8, positives=1)], ids=["uniform", "seq"])
def test_own_time_of_a_response(schedule, record_property):
    """10,000 prompts open at once. The bound is that of a busy machine: alone it takes about a third of it."""

    class Fast(Alone):
        weight_version = 0

        def __init__(self):
            self.running = []

        def submit(self, draw):
            self.running.append(draw)

        def step(self):
            ended, self.running = self.running[:256], self.running[256:]
            return [Response(draw.prompt.id, draw.index, (5, 0), (-0.1, -0.2), "stop", 0) for draw in ended]

        def abort(self, draws):
            raise AssertionError("nothing is aborted where the window is a round")

    class Instant:
        asks_about_cut_off = False

        def __init__(self):
            self.verdicts = []

        def submit(self, key, text, answer, facts=None):
            self.verdicts.append((key, Verdict(float(key[-1] % 2), bool(key[-1] % 2))))

        def poll(self, wait_seconds=0.0):
            verdicts, self.verdicts = self.verdicts, []
            return verdicts

    asked = prompts(10_000)
    best = float("inf")
    for _ in range(3):
        subject = Collector(Fast(), Instant(), lambda ids: "5", Ranks(), seed=0, max_concurrent=40_000)
        started = time.process_time()
        pools, _ = subject.collect("step-1", asked, schedule)
        best = min(best, (time.process_time() - started) / sum(pool.drawn for pool in pools))
    record_property("microseconds", best * 1e6)
    print(f"{best * 1e6:.1f} us per response")
    assert best < 100e-6
