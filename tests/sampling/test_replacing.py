"""Prompts that are replaced as soon as they are through, with stand-ins: who is opened when, and that it favours nobody."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections import Counter

import pytest

from ada.sampling.profile import beta
from ada.sampling.schedules.seq import Seq
from ada.sampling.schedules.uniform import Uniform
from ada.sampling.streaming import Stream, Streaming
from ada.simulation.costs import DecodeCost
from ada.simulation.draws import HashedDraws, Lengths
from ada.simulation.problems import Problems
from ada.simulation.setting import PAPER
from ada.simulation.steps import Job
from tests.sampling.stand_in import StandInEngine, always, mixed, one_after_the_other
from tests.sampling.test_streaming import BALANCE, Once, Trial, beliefs, plain


def trial(schedule, **keys):
    return Trial(schedule, replace="at_once", **keys)


def test_the_draws_of_two_steps_one_by_one():
    """Two prompts a step, three open, a draw each; each turn ends the draw that was submitted first.

    Prompt 0 is through and 3 takes its place; prompt 1 is, and the step is over. 2 and 3 have had one token each, 4 waits to be opened.
    """
    two = trial(Uniform(draws=1), open=1.5, size=2, law=always("R"), rewards="together")
    two.choose = Once()
    two.run()
    assert two.submitted() == [(0, 0, 0), (1, 0, 0), (2, 0, 0), (3, 0, 0)]
    assert {pool.prompt.id for pool in two.pools[0]} == {"test/0", "test/1"}
    assert [(p.pool.prompt.id, [w.versions for w in p.begun.values()]) for p in two.stream.open] == [
        ("test/2", [((2, 1),)]),
        ("test/3", [((2, 1),)]),
    ]
    assert [prompt.id for prompt in two.stream.chosen] == ["test/4"]
    assert (two.stream.turnover.opened, two.stream.turnover.still_open) == (4, 2)
    two.run()
    assert two.submitted()[4:] == [(2, 0, 1), (3, 0, 1), (4, 0, 0), (5, 0, 0)]
    assert {pool.prompt.id for pool in two.pools[1]} == {"test/2", "test/3"}
    assert [(prompt.pool.prompt.id, prompt.name) for prompt in two.stream.open] == [("test/4", "step-2"), ("test/5", "step-2")]
    assert [prompt.id for prompt in two.stream.chosen] == ["test/6"]


def test_as_many_as_should_be_open_are_drawn_from_to_the_end():
    class Counting(StandInEngine):
        def step(self):
            counts.append(len({draw.prompt.id for draw in self.running.values()}))
            return super().step()

    for how, least in (("at_once", 6), ("next_step", 3)):
        counts: list[int] = []
        some = Trial(Uniform(draws=2), replace=how, open=1.5, size=4, slots=100, law=always("R"), rewards="together")
        some.stream.collector.engine = some.engine = Counting(always("R"), "started")
        some.run(5)
        assert (min(counts), max(counts)) == (least, 6)


def test_pools_are_those_of_sequential_sampling_and_no_prompt_is_lost():
    dropped = 0
    for window, order, slots, staleness in itertools.product((None, 8), ("started", 1), (5, 1000), (1, 99)):
        some = trial(BALANCE, window=window, order=order, slots=slots, rewards=order, max_staleness=staleness)
        for _ in range(6):
            names = {prompt.pool.prompt.id: prompt.name for prompt in some.stream.open}
            (pools,) = some.run().pools[-1:]
            dropped += some.stream.turnover.dropped
            here = [*pools, *(prompt.pool for prompt in some.stream.open)]
            ids = [*(pool.prompt.id for pool in here), *(prompt.id for prompt in some.stream.chosen)]
            assert len(pools) == 4 and len({*ids}) == len(ids)
            for pool in pools:
                name = names.get(pool.prompt.id, f"step-{some.step}")
                (expected,) = one_after_the_other(mixed, BALANCE, name, [pool.prompt], beliefs([pool.prompt]))
                assert plain(pool) == expected, (window, order, slots)
    assert dropped


def test_slow_prompts_are_trained_on_as_often_as_they_are_opened_and_anywhere_in_a_step():
    """A third of the prompts needs four times the draws of the others: more steps, but no more and no fewer turns."""
    slow = lambda id: int(id[5:]) % 3 == 0  # noqa: E731
    some = trial(BALANCE, open=2.0, size=6, law=lambda d: "R" if slow(d.prompt.id) else "RW"[d.index % 2], rewards="together", count=33)
    opened, old = Counter[str](), Counter[bool]()
    places: dict[bool, list[float]] = {True: [], False: []}  # in a step, from 0 to 1: of prompts that earlier steps opened, and of its own
    for _ in range(99):
        before = {prompt.pool.prompt.id for prompt in some.stream.open}
        (pools,) = some.run().pools[-1:]
        opened.update({*(pool.prompt.id for pool in pools), *(prompt.pool.prompt.id for prompt in some.stream.open)} - before)
        for place, pool in enumerate(pools):
            places[pool.prompt.id in before].append(place / 5)
            old[slow(pool.prompt.id)] += pool.prompt.id in before
    trained = Counter(pool.prompt.id for pools in some.pools for pool in pools)
    still_open = {prompt.pool.prompt.id for prompt in some.stream.open}
    assert {id: trained[id] + (id in still_open) for id in opened} == opened
    assert max(opened.values()) - min(opened.values()) <= 2  # of an epoch some come late, as they were open when it began
    turns = {kind: [count for id, count in trained.items() if slow(id) == kind] for kind in (True, False)}
    assert sum(turns[True]) / 11 == pytest.approx(sum(turns[False]) / 22, abs=1) and old[True] / sum(turns[True]) > 0.9
    for found in places.values():  # six places at equal intervals: deviation sqrt(7 / 60)
        assert sum(found) / len(found) == pytest.approx(0.5, abs=4 * math.sqrt(7 / 60 / len(found)))


def test_with_verdicts_by_the_engines_clock_it_goes_on_from_a_checkpoint():
    whole, half, rest = (trial(BALANCE, rewards=seed, verdict_after=2) for seed in (1, 3, 4))
    whole.run(6)
    half.run(3)
    saved = half.saved()
    half.run(1)  # what comes later does not change what was saved
    rest.go_on_from(saved)
    assert rest.stream.chosen and any(prompt.begun for prompt in rest.stream.open)
    rest.run(3)
    assert rest.pools == whole.pools[3:]


def test_ranks_share_the_places_that_get_free():
    """Three ranks, 8 prompts a step, 12 open: four on each. None is lost, and none is in two places."""
    schedule = Seq(exit="balance", check_every=2, max_draws=8, positives=1, negatives=1)
    problems = Problems(beta(1.0, 1.0), belief_draws=4, seed=0)
    setting = dataclasses.replace(PAPER, decode=DecodeCost.line(1.0, 0.0), lengths=Lengths("lognormal(9,0.8)", 40))
    job = Job(setting, HashedDraws(problems.pass_rates, setting.lengths), gpus=3, seed=0)
    stream = Stream(Streaming(open=1.5, max_staleness=9, replace="at_once"), job.collector, 8, schedule, None)
    opened, trained = 0, []
    for step in range(1, 9):
        pools, _ = stream.collect(step, step - 1, lambda count, beside: problems.next(count), problems.believe)
        for machine in job.machines:
            machine.engine.weight_version = step
        opened += stream.turnover.opened
        trained += [pool.prompt.id for pool in pools]
        unresolved = [prompt for prompt in stream.open if prompt.pool.outcome is None]
        assert len(pools) == 8 and 12 - 3 <= len(unresolved) <= 12
        ids = [*trained, *(prompt.pool.prompt.id for prompt in stream.open), *(prompt.id for prompt in stream.chosen)]
        assert len(ids) == len({*ids}) == len(problems.pass_rates)  # every prompt that was ever chosen is in one place
    assert opened == len(trained) + len(stream.open)
