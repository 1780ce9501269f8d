"""Prompts that stay open across steps, with stand-ins: what is drawn, who is trained on when, and that nothing is lost or counted twice."""

from __future__ import annotations

import dataclasses
import io
import itertools
import re
from collections import Counter

import pytest
import torch

from ada.contracts import Schedule
from ada.data.selection.shuffle import Shuffle
from ada.sampling.carried import Carried
from ada.sampling.profile import beta
from ada.sampling.schedules.ngu import NeverGiveUp
from ada.sampling.schedules.seq import Seq
from ada.sampling.schedules.uniform import Uniform
from ada.sampling.streaming import Stream, Streaming
from ada.sampling.turnover import Turnover, turnover
from ada.sampling.windows import BeliefWindow, fixed
from ada.simulation.costs import DecodeCost
from ada.simulation.draws import HashedDraws, Lengths
from ada.simulation.problems import Problems
from ada.simulation.setting import PAPER
from ada.simulation.steps import Job
from ada.types import PassRate, Pool, Written
from tests.sampling.stand_in import StandInEngine, StandInRewards, always, attempt_of, collector, mixed, one_after_the_other, prompts

BALANCE = Seq(exit="balance", check_every=4, max_draws=16, positives=2)
SCHEDULES: dict[str, Schedule] = {
    "uniform": Uniform(draws=6),
    "balance": BALANCE,
    "ngu": NeverGiveUp(check_every=4, max_draws=24, again=0.7),
}
STEPS = 6


def beliefs(asked):
    return [PassRate(int(prompt.id.rpartition("/")[2]) % 11 / 10, 4.0) for prompt in asked]


class Trial:
    """A stream of prompts and what came of it, step by step; the weights change after each."""

    def __init__(
        self, schedule, *, open=1.5, size=4, window=None, order="started", law=mixed, count=40, slots=16, rewards="started", **keys
    ):
        self.engine, self.rewards = StandInEngine(law, order), StandInRewards(rewards)
        window = fixed(window) if isinstance(window, int) else window
        keys = {"max_staleness": 99} | keys
        self.stream = Stream(Streaming(open=open, **keys), collector(self.engine, self.rewards, slots), size, schedule, window)
        self.selector = Shuffle().start(prompts(count), seed=1)
        self.step = 0
        self.opened: list[str] = []
        self.names: dict[str, str] = {}  # the step in which a prompt was last opened
        self.pools: list[list[Pool]] = []
        self.costs = []

    def choose(self, count, beside):
        chosen = self.selector.next(count, beside)
        self.opened += [prompt.id for prompt in chosen]
        self.names |= {prompt.id: f"step-{self.step}" for prompt in chosen}
        return chosen

    def run(self, steps=1):
        for _ in range(steps):
            self.step += 1
            self.engine.weight_version = 2 * self.step  # two updates a step
            pools, cost = self.stream.collect(self.step, self.engine.weight_version, self.choose, beliefs)
            assert not self.engine.running
            self.pools.append(pools)
            self.costs.append(cost)
        return self

    def saved(self):
        """As a checkpoint holds it, in a file."""
        file = io.BytesIO()
        torch.save({"step": self.step, "stream": self.stream.state_dict(), "selection": self.selector.state_dict()}, file)
        return file

    def go_on_from(self, file):
        file.seek(0)
        state = torch.load(file, weights_only=True)
        self.step = state["step"]
        self.stream.load_state_dict(state["stream"])
        self.selector.load_state_dict(state["selection"])

    def submitted(self):
        return [(int(draw.prompt.id.rpartition("/")[2]), draw.index, len(draw.begun)) for draw in self.engine.submitted]


class Once:
    """Prompts in the order of their numbers."""

    def __init__(self, count=20):
        self.left = prompts(count)

    def __call__(self, count, beside):
        chosen, self.left = self.left[:count], self.left[count:]
        return chosen


def plain(pool: Pool) -> Pool:
    """Without the versions of the weights, which drawing without a break does not have."""
    attempts = [dataclasses.replace(a, response=dataclasses.replace(a.response, weight_version=3, earlier=())) for a in pool.attempts]
    return dataclasses.replace(pool, attempts=attempts)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_pools_are_those_of_sequential_sampling_whenever_they_are_through(schedule):
    """Draw for draw, with the seeds of the step that opened them."""
    carried = 0
    for window, order, slots in itertools.product((None, 2, 8), ("started", "together", 1), (5, 1000)):
        trial = Trial(SCHEDULES[schedule], window=window, order=order, slots=slots, rewards=order)
        for _ in range(STEPS):
            (pools,) = trial.run().pools[-1:]
            for pool in pools:
                name = trial.names[pool.prompt.id]
                carried += name != f"step-{trial.step}"
                (expected,) = one_after_the_other(mixed, SCHEDULES[schedule], name, [pool.prompt], beliefs([pool.prompt]))
                assert plain(pool) == expected, (window, order, slots)
    assert carried > 50


def test_windows_by_belief_change_no_pool():
    trial = Trial(BALANCE, window=BeliefWindow(BALANCE, 0.8), order=1).run(STEPS)
    for pool in itertools.chain.from_iterable(trial.pools):
        name = trial.names[pool.prompt.id]
        assert plain(pool) == one_after_the_other(mixed, BALANCE, name, [pool.prompt], beliefs([pool.prompt]))[0]


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_every_prompt_opened_is_trained_on_or_dropped_or_open(schedule):
    for window, order, staleness in itertools.product((None, 8), ("started", 1, 2), (1, 99)):
        trial = Trial(SCHEDULES[schedule], window=window, order=order, rewards=order, open=2.0, max_staleness=staleness)
        dropped = 0
        for _ in range(12):
            before = {prompt.pool.prompt.id for prompt in trial.stream.open}
            trial.run()
            came = trial.stream.turnover
            assert (came.before, len(trial.pools[-1]), came.still_open) == (len(before), 4, 4)
            dropped += came.dropped
            trained = [pool.prompt.id for pool in trial.pools[-1]]
            still_open = [prompt.pool.prompt.id for prompt in trial.stream.open]
            assert len({*trained, *still_open}) == 8  # none is in two places
        through = [pool.prompt.id for pool in itertools.chain.from_iterable(trial.pools)]
        assert len(trial.opened) == len(through) + dropped + 4
        assert not Counter(through) + Counter(still_open) - Counter(trial.opened)
        assert staleness == 99 and not dropped or staleness == 1


def test_every_token_is_counted_once_and_every_draw():
    """In the step that it was drawn in. With windows of a round nothing is drawn in vain."""
    rested = 0
    for schedule, order in itertools.product((Uniform(draws=6), BALANCE), ("started", 1, 2)):
        law = lambda draw: "W" if mixed(draw) == "E" else mixed(draw)  # noqa: E731  of what the engine cannot use no tokens are told
        trial = Trial(schedule, order=order, law=law, open=2.0)
        there = 0
        for _ in range(STEPS):
            trial.run()
            attempts = [a for pools in trial.pools for pool in pools for a in pool.attempts]
            for prompt in trial.stream.open:
                attempts += [*prompt.pool.attempts, *prompt.finished]
            written = sum(len(a.response.token_ids) for a in attempts)
            written += sum(len(r.token_ids) for prompt in trial.stream.open for r in prompt.unscored)
            written += sum(len(w) for prompt in trial.stream.open for w in prompt.begun.values())
            assert trial.costs[-1].generated_tokens == written - there
            there = written
            rested += sum(len(w) for prompt in trial.stream.open for w in prompt.begun.values())
        assert sum(cost.aborted_tokens + cost.surplus for cost in trial.costs) == 0
    assert rested


def test_the_draws_of_two_steps_one_by_one():
    """One prompt a step, two open, two draws each, three at once; each turn ends the draw that was submitted first.

    Prompt 0 is through after its two draws. Those of prompt 1 have had one token each, and go on with it; prompt 2 takes the free place.
    """
    trial = Trial(Uniform(draws=2), open=2.0, size=1, slots=3, law=always("R"), rewards="together")
    trial.choose = Once()
    trial.run()
    assert trial.submitted() == [(0, 0, 0), (0, 1, 0), (1, 0, 0), (1, 1, 0)]
    (rested,) = trial.stream.open
    assert (rested.name, rested.pool.prompt.id, sorted(rested.begun)) == ("step-1", "test/1", [0, 1])
    assert [written.versions for written in rested.begun.values()] == [((2, 1),), ((2, 1),)]
    trial.run()
    assert trial.submitted()[4:] == [(1, 0, 1), (1, 1, 1), (2, 0, 0), (2, 1, 0)]
    seeds = [draw.seed for draw in trial.engine.submitted]
    assert seeds[4:6] == seeds[2:4]  # those of step 1
    assert [[pool.prompt.id for pool in pools] for pools in trial.pools] == [["test/0"], ["test/1"]]
    first = trial.pools[1][0].attempts[0].response
    assert first.versions == ((2, 1), (4, len(first.token_ids) - 1)) and first.older_than(4) == 1


def test_what_resolves_beyond_the_step_waits_and_comes_first():
    """All four draws of four prompts end in one turn: two prompts are the step's, the others wait, and the next step draws nothing."""
    trial = Trial(Uniform(draws=1), open=2.0, size=2, order="together", law=always("R"), rewards="together")
    trial.choose = Once()
    trial.run()
    assert [[pool.prompt.id for pool in pools] for pools in trial.pools] == [["test/0", "test/1"]]
    assert [prompt.pool.outcome for prompt in trial.stream.open] == ["exhausted", "exhausted"]
    trial.run()
    assert len(trial.engine.submitted) == 4  # 4 and 5 were opened, but nothing is drawn for them yet
    assert [pool.prompt.id for pool in trial.pools[1]] == ["test/2", "test/3"]
    assert [prompt.name for prompt in trial.stream.open] == ["step-2", "step-2"]


def test_a_step_takes_the_first_that_resolve_in_the_order_of_their_prompts():
    """The last prompt is through first, then the second, in a step that takes two of three."""

    class Late(StandInEngine):
        def _ending(self):
            return [next(self.running[id, 0] for id in ("test/2", "test/1", "test/0") if (id, 0) in self.running)]

    trial = Trial(Uniform(draws=1), open=1.5, size=2, law=always("R"))
    trial.choose = Once()
    trial.stream.collector.engine = trial.engine = Late(always("R"))
    trial.run()
    assert [pool.prompt.id for pool in trial.pools[0]] == ["test/1", "test/2"]
    assert [prompt.pool.prompt.id for prompt in trial.stream.open] == ["test/0"]


def test_prompts_of_earlier_steps_are_spread_over_a_steps_updates():
    """One that was opened second in an earlier step stands behind the first of this one, not before it."""
    trial = Trial(Uniform(draws=1), open=1.5, size=2, law=always("R"))
    trial.choose = Once()
    trial.stream.open = [Carried("step-0", trial.stream.collector.pool("step-0", p, None), 1) for p in prompts(1, "early")]
    trial.stream.collector.engine = trial.engine = StandInEngine(always("R"), "together")
    trial.run()
    assert [pool.prompt.id for pool in trial.pools[0]] == ["test/0", "early/0"]


class Stuck(StandInEngine):
    """Prompt 0 never gets its second draw to an end."""

    def _ending(self):
        return [draw for draw in self.running.values() if (draw.prompt.id, draw.index) != ("test/0", 1)][:1]


def test_a_prompt_that_is_open_for_too_long_is_dropped_and_may_come_again():
    trial = Trial(Uniform(draws=2), open=1.5, size=2, law=always("R"), max_staleness=2)
    trial.stream.collector.engine = trial.engine = Stuck(always("R"))
    order = prompts(20)
    trial.choose = lambda count, beside: [p for p in order if p.id not in {*beside, *done(trial)}][:count]
    for step in (1, 2, 3):
        trial.run()
        assert trial.stream.open[0].pool.prompt.id == "test/0" and trial.stream.turnover.dropped == 0
        assert len(trial.stream.open[0].begun[1]) == min(
            step, len(attempt_of(always("R"), trial.engine.submitted[1]).response.token_ids) - 1
        )
    stale = trial.stream.open[0].pool
    trial.run()  # its first token is of step 1, three steps ago
    assert stale.outcome == "stale" and trial.stream.turnover.dropped == 1
    assert all(pool.prompt.id != "test/0" for pools in trial.pools for pool in pools)
    assert trial.costs[-1].surplus == 2  # draws that nobody trains on
    assert trial.stream.open[0].pool.prompt.id == "test/0" and trial.stream.open[0].name == "step-4"


def done(trial):
    return {pool.prompt.id for pools in trial.pools for pool in pools}


def test_staleness_counts_steps_in_which_the_weights_changed():
    """After a step without an update the next one draws with the same weights: its tokens are as fresh as new ones."""
    trial = Trial(Uniform(draws=2), open=1.5, size=2, law=always("R"), max_staleness=1)
    trial.stream.collector.engine = trial.engine = Stuck(always("R"))
    trial.engine.weight_version = 2
    order = prompts(20)
    choose = lambda count, beside: [p for p in order if p.id not in {*beside, *done(trial)}][:count]  # noqa: E731
    for step, version in ((1, 2), (2, 2), (3, 4), (4, 6)):
        trial.engine.weight_version = version
        pools, _ = trial.stream.collect(step, version, choose, beliefs)
        trial.pools.append(pools)
        assert trial.stream.turnover.dropped == (step == 4)


def test_metrics_of_staleness():
    """Two responses of the step before that had one token each, as in the test of two steps one by one."""
    trial = Trial(Uniform(draws=2), open=2.0, size=1, slots=3, law=always("R"), rewards="together")
    trial.choose = Once()
    trial.run()
    assert trial.stream.metrics(1, trial.pools[0]) == {
        "streaming/open": 1,
        "streaming/dropped": 0,
        "streaming/staleness_mean": 0.0,
        "streaming/staleness_max": 0,
        "streaming/stale_token_fraction": 0.0,
    }
    trial.run()
    tokens = sum(len(attempt.response.token_ids) for attempt in trial.pools[1][0].attempts)
    found = trial.stream.metrics(2, trial.pools[1])
    assert found["streaming/staleness_mean"] == found["streaming/stale_token_fraction"] == 2 / tokens
    assert found["streaming/staleness_max"] == 1 and found["streaming/open"] == 1


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_open_1_is_the_on_policy_run(schedule):
    for window, order in itertools.product((None, 8), ("started", 1)):
        trial = Trial(SCHEDULES[schedule], open=1.0, window=window, order=order, rewards=order).run(3)
        engine, selector = StandInEngine(mixed, order), Shuffle().start(prompts(40), seed=1)
        alone = collector(engine, StandInRewards(order))
        for step in (1, 2, 3):
            engine.weight_version = 2 * step
            draws = fixed(window) if window else None
            pools, cost = alone.collect(f"step-{step}", selector.next(4), SCHEDULES[schedule], window=draws, believe=beliefs)
            assert pools == trial.pools[step - 1]
            costs = [dataclasses.replace(c, seconds=0.0, reward_seconds=0.0) for c in (cost, trial.costs[step - 1])]
            assert costs[0] == costs[1]
        assert engine.submitted == trial.engine.submitted and engine.steps == trial.engine.steps
        assert trial.stream.open == []


def test_with_verdicts_by_the_engines_clock_a_step_can_be_repeated():
    """Whenever the reward workers are done, and also from what a checkpoint holds; on a wall's clock it would be another run."""

    def drawn(trial):
        return [(draw.prompt.id, draw.index, draw.begun) for draw in trial.engine.submitted]

    one, two, by_wall = (Trial(BALANCE, order="started", rewards=seed, verdict_after=after) for seed, after in ((1, 2), (2, 2), (2, None)))
    for trial in (one, two, by_wall):
        trial.run(STEPS)
    assert drawn(one) == drawn(two) and one.pools == two.pools
    assert drawn(by_wall) != drawn(one)

    half, rest = (Trial(BALANCE, order="started", rewards=seed, verdict_after=2) for seed in (3, 4))
    half.run(3)
    saved = half.saved()
    half.run(1)  # what comes later does not change what was saved
    rest.go_on_from(saved)
    assert rest.stream.open and any(prompt.unscored or prompt.finished for prompt in rest.stream.open)
    rest.run(STEPS - 3)
    assert rest.pools == one.pools[3:]
    assert drawn(half)[: len(drawn(one)) - len(drawn(rest))] + drawn(rest) == drawn(one)


def test_slow_prompts_are_trained_on_as_often_as_they_are_opened():
    """A third of the prompts needs four times the draws of the others: more steps, but no more and no fewer turns."""
    slow = lambda id: int(id[5:]) % 3 == 0  # noqa: E731
    trial = Trial(BALANCE, open=2.0, size=6, law=lambda d: "R" if slow(d.prompt.id) else "RW"[d.index % 2], rewards="together", count=33)
    old = Counter[bool]()  # turns of prompts that earlier steps opened, by slow
    for _ in range(99):
        before = {prompt.pool.prompt.id for prompt in trial.stream.open}
        (pools,) = trial.run().pools[-1:]
        old.update(slow(pool.prompt.id) for pool in pools if pool.prompt.id in before)
    trained = Counter(pool.prompt.id for pools in trial.pools for pool in pools)
    assert trained + Counter(prompt.pool.prompt.id for prompt in trial.stream.open) == Counter(trial.opened)
    turns = {kind: [count for id, count in trained.items() if slow(id) == kind] for kind in (True, False)}
    assert sum(turns[True]) / 11 == pytest.approx(sum(turns[False]) / 22, abs=1)
    assert old[True] / sum(turns[True]) > 0.9


def test_ranks_share_what_is_open():
    """Three ranks, 8 prompts a step, 12 open: four on each. None is lost, and none is in two places."""
    schedule = Seq(exit="balance", check_every=2, max_draws=8, positives=1, negatives=1)
    problems = Problems(beta(1.0, 1.0), belief_draws=4, seed=0)
    setting = dataclasses.replace(PAPER, decode=DecodeCost.line(1.0, 0.0), lengths=Lengths("lognormal(9,0.8)", 40))
    job = Job(setting, HashedDraws(problems.pass_rates, setting.lengths), gpus=3, seed=0)
    stream = Stream(Streaming(open=1.5, max_staleness=9), job.collector, 8, schedule, None)
    trained = []
    for step in range(1, 9):
        pools, _ = stream.collect(step, step - 1, lambda count, beside: problems.next(count), problems.believe)
        for machine in job.machines:
            machine.engine.weight_version = step
        trained += [pool.prompt.id for pool in pools]
        ids = [*trained, *(prompt.pool.prompt.id for prompt in stream.open)]
        assert len(pools) == 8 and len(stream.open) == 4
        assert len(ids) == len({*ids}) == len(problems.pass_rates)  # every prompt that was ever chosen is in one place


def test_a_prompt_that_loses_a_draw_or_has_it_twice_ends_the_run():
    prompt = prompts(1)[0]
    attempts = [attempt_of(always("R"), draw) for draw in _draws(prompt, 3)]
    for pool, finished, begun in (
        ([0], [2], {}),  # draw 1 is nowhere
        ([0, 1], [1], {}),  # twice
        ([0], [2], {1: Written(), 2: Written()}),
        ([1, 0], [], {}),  # read in another order
    ):
        with pytest.raises(RuntimeError, match=re.escape(f"prompt test/0 has draws {[*pool, *sorted([*finished, *begun])]}")):
            Carried("step-1", Pool(prompt, attempts=[attempts[i] for i in pool]), 0, tuple(attempts[i] for i in finished), (), begun)
    whole = Carried("step-1", Pool(prompt, attempts=attempts[:1]), 0, (attempts[2],), (), {1: Written()})
    assert whole.started == 3


def _draws(prompt, count):
    from ada.types import Draw

    return [Draw(prompt, index, index) for index in range(count)]


@pytest.mark.parametrize(
    ("trained", "dropped", "still_open"),
    [("ab", "c", ""), ("ab", "c", "dd"), ("abd", "c", "d"), ("ab", "cx", "d"), ("aa", "c", "d")],
)
def test_a_prompt_that_is_lost_or_counted_twice_ends_the_run(trained, dropped, still_open):
    assert turnover("ac", "bd", "ab", "c", "d") == Turnover(2, 2, 2, 1, 1)
    assert turnover("a", "a", "", "a", "a").dropped == 1  # dropped, and chosen again at once
    with pytest.raises(RuntimeError, match="open prompts were lost or counted twice"):
        turnover("ac", "bd", trained, dropped, still_open)


@pytest.mark.parametrize(("open", "size", "expected"), [(1.0, 32, 32), (1.5, 32, 48), (1.1, 10, 11), (1.01, 10, 11)])
def test_prompts_open_together(open, size, expected):
    assert Streaming(open=open, max_staleness=1).prompts(size) == expected
