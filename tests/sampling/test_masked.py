"""A response without a verdict: masked, it takes a place in the pool and nothing else; counted as wrong, it is a wrong one."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ada.rewards.service import Verdict
from ada.sampling.collector import Collector
from ada.sampling.grouping import group_of
from ada.sampling.groups.all import All
from ada.sampling.groups.balanced import Balanced
from ada.sampling.groups.max_variance import MaxVariance
from ada.sampling.groups.positives import Positives
from ada.sampling.groups.random import Random
from ada.sampling.schedules.seq import Seq
from ada.trainer.advantages.centred import Centred
from ada.trainer.credit import credit
from ada.trainer.objectives.linear import Linear
from tests.sampling.pools import attempt, pool, verdicts

GROUPS = [(All(), None), (Balanced(), 4), (MaxVariance(), 4), (Positives(), None), (Random(), 4)]
some_verdicts = st.text("RWF", min_size=1, max_size=12)


def counted_wrong(text):
    """The pool with every F counted as wrong."""
    made = pool(text)
    made.attempts = [dataclasses.replace(a, counts_wrong=a.failure is not None) for a in made.attempts]
    return made


@settings(deadline=None)  # a loaded machine takes its time
@given(some_verdicts)
def test_every_draw_is_right_wrong_or_masked(text):
    masked = pool(text)
    assert masked.drawn == len(text) == masked.right + masked.wrong + text.count("F")
    assert counted_wrong(text).drawn == counted_wrong(text).right + counted_wrong(text).wrong


@settings(deadline=None)  # a loaded machine takes its time
@given(some_verdicts)
def test_a_masked_draw_enters_no_statistic(text):
    masked, without = pool(text), pool(text.replace("F", ""))
    for fact in ("right", "wrong", "pass_rate", "mean_reward"):
        assert getattr(masked, fact) == pytest.approx(getattr(without, fact), nan_ok=True)


@settings(deadline=None)  # a loaded machine takes its time
@given(some_verdicts)
def test_counted_as_wrong_it_is_as_a_wrong_one(text):
    as_wrong, wrong = counted_wrong(text), pool(text.replace("F", "W"))
    for fact in ("right", "wrong", "pass_rate", "mean_reward", "drawn"):
        assert getattr(as_wrong, fact) == getattr(wrong, fact)
    stop = Seq(exit="balance", check_every=1, max_draws=12, positives=2, negatives=2).stop
    assert stop(as_wrong) == stop(wrong)


@pytest.mark.parametrize(("grouping", "size"), GROUPS, ids=lambda value: getattr(value, "name", ""))
@settings(deadline=None)  # a loaded machine takes its time
@given(text=some_verdicts)
def test_a_masked_draw_has_no_gradient_and_moves_none(grouping, size, text):
    group = group_of(pool(text), grouping, size, seed=3)
    assert all(a.failure is None for a in group.attempts)
    share = text.count("R") / max(1, text.count("R") + text.count("W"))
    assert credit(group, Centred(baseline="pool"), Linear()) == pytest.approx([a.reward - share for a in group.attempts])


@pytest.mark.parametrize(("text", "drawn"), [("FFRW", 4), ("RFFFFW", 6), ("FFFFFFFF", 8)])
def test_a_stop_rule_waits_for_verdicts_and_ends_at_its_cap(text, drawn):
    rule, seen = Seq(exit="balance", check_every=1, max_draws=8, positives=1, negatives=1), ""
    for verdict in text:
        seen += verdict
        if rule.stop(pool(seen)):
            break
    assert len(seen) == drawn
    assert verdicts(pool(seen).attempts) == text[:drawn]


def test_the_collector_hands_on_what_the_service_says_and_asks_about_cut_off_ones_where_wanted():
    from ada.engine.alone import Alone
    from ada.ranks import Ranks
    from ada.sampling.schedules.uniform import Uniform
    from ada.types import Response
    from tests.sampling.pools import prompt

    class Engine(Alone):
        weight_version = 0

        def __init__(self):
            self.draws = []

        def submit(self, draw):
            self.draws.append(draw)

        def step(self):
            draws, self.draws = self.draws, []
            return [Response(d.prompt.id, d.index, (7,) * 5, (-0.1,) * 5, "length" if d.index % 2 else "stop", 0) for d in draws]

        def abort(self, draws):
            return 0

    class Rewards:
        asks_about_cut_off = True

        def __init__(self):
            self.asked, self.done = [], []

        def submit(self, key, text, answer, facts):
            self.asked.append(facts)
            verdict = Verdict(-1.0, False) if facts.cut_off else Verdict(0.0, False, "timeout", counts_wrong=True)
            self.done.append((key, verdict))

        def poll(self, wait_seconds=0.0):
            done, self.done = self.done, []
            return done

    for asks in (True, False):
        rewards = Rewards()
        rewards.asks_about_cut_off = asks
        collector = Collector(Engine(), rewards, lambda ids: "text", Ranks(), seed=0, max_concurrent=4)
        (got,), _ = collector.collect("step", [prompt()], Uniform(draws=4))
        assert [a.reward for a in got.attempts] == ([0.0, -1.0] * 2 if asks else [0.0] * 4)
        assert [a.failure for a in got.attempts] == ["timeout", None] * 2 and got.wrong == 4
        assert [(f.prompt, f.tokens, f.cut_off) for f in rewards.asked] == [
            ("1+2=", 5, c) for c in ([False, True] * 2 if asks else [False] * 2)
        ]
    assert attempt("F", 0).judged is False
