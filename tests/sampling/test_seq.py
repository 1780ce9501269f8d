"""Seq, SPEED and uniform against literal sequences of draws."""

from __future__ import annotations

import json
from itertools import repeat

import pytest
from pydantic import TypeAdapter, ValidationError

from ada.sampling.schedules.seq import Seq
from ada.sampling.schedules.speed import Speed
from ada.sampling.schedules.uniform import Uniform
from tests.sampling.pools import pool, sample, verdicts


@pytest.mark.parametrize(
    ("schedule", "drawn_if_asked", "drawn", "outcome"),
    [
        (Seq(exit="balance", check_every=4, max_draws=16, positives=1), "RRRR RRRW", 8, "resolved"),
        (Seq(exit="balance", check_every=4, max_draws=16, positives=2, negatives=1), "WRWW WWWR", 8, "resolved"),
        (Seq(exit="balance", check_every=4, max_draws=16, positives=2, negatives=1), "WRWW WWWW WWWW WWWR", 16, "resolved"),
        (Seq(exit="balance", check_every=4, max_draws=16, positives=2, negatives=1), "WRWW WWWW WWWW WWWW", 16, "exhausted"),
        (Seq(exit="balance", check_every=8, max_draws=32, positives=2), "RRWWWWWW", 8, "resolved"),
        (Seq(exit="balance", check_every=8, max_draws=32, positives=2), "RRRRRRRR RRRRRRRW WRRRRRRR", 24, "resolved"),
        (Seq(exit="pos", check_every=4, max_draws=8, positives=1), "RWWW", 4, "resolved"),  # looked at after the round, not within it
        (Seq(exit="pos", check_every=1, max_draws=8, positives=1), "WWR", 3, "resolved"),
        (Seq(exit="pos", check_every=1, max_draws=8, positives=3), "RWRWR", 5, "resolved"),
        (Seq(exit="pos", check_every=2, max_draws=4, positives=1), "WWWW", 4, "exhausted"),
        (Seq(exit="pos", check_every=2, max_draws=4, positives=1), "RR", 2, "resolved"),  # pos: needs no wrong answer
        (Seq(exit="balance", check_every=2, max_draws=4, positives=1), "RFFF", 4, "exhausted"),  # a failure is not a wrong answer
        (Seq(exit="balance", check_every=2, max_draws=4, positives=1), "RFWF", 4, "resolved"),
        (Speed(screen=4, draws=8), "WWWW", 4, "gave_up"),
        (Speed(screen=4, draws=8), "RRRR", 4, "gave_up"),
        (Speed(screen=4, draws=8), "RFFF", 4, "gave_up"),  # a failure is not a wrong answer
        (Speed(screen=4, draws=8), "WWWR WWWW", 8, "resolved"),
        (Speed(screen=2, draws=6), "RW RR RR", 6, "resolved"),
        (Uniform(draws=4), "WWWW", 4, "exhausted"),
        (Uniform(draws=3), "RWF", 3, "exhausted"),
    ],
)
def test_literal_draws(schedule, drawn_if_asked, drawn, outcome):
    source = drawn_if_asked.replace(" ", "")
    (result,) = sample(schedule, [pool("")], [source])
    assert (result.drawn, result.outcome, result.rounds) == (drawn, outcome, drawn // schedule.check_every)
    assert verdicts(result.attempts) == source[:drawn]


def test_each_prompt_is_decided_by_its_own_draws_A02():
    schedule = Seq(exit="balance", check_every=2, max_draws=6, positives=1)
    pools = sample(schedule, [pool("", id=f"test/{i}") for i in range(3)], ["RRRW", "WWWWWW", "RW"])
    assert [(p.drawn, p.outcome) for p in pools] == [(4, "resolved"), (6, "exhausted"), (2, "resolved")]


@pytest.mark.parametrize("verdict", ["R", "W", "F"])
def test_hopeless_prompts_end_at_the_cap_A06(verdict):
    pools = [pool("", id=f"test/{i}") for i in range(4)]
    sample(Seq(exit="balance", check_every=4, max_draws=12, positives=2), pools, [repeat(verdict)] * 3 + [repeat("R")])
    assert [(p.drawn, p.outcome) for p in pools] == [(12, "exhausted")] * 4


@pytest.mark.parametrize(
    ("recipe", "says"),
    [
        ({"check_every": 8, "max_draws": 30}, "not a multiple of schedule.check_every = 8"),
        ({"exit": "pos", "negatives": 2}, "exit `pos` asks for no wrong answers"),
        ({"check_every": 4, "max_draws": 4, "positives": 3}, "fewer than the 6 answers its exit asks for"),
        ({"check_every": 0}, "greater than or equal to 1"),
        ({"rounds": 4}, "Unexpected keyword argument"),
        ({"exit": "both"}, "'pos' or 'balance'"),
    ],
)
def test_recipes_that_cannot_hold_are_refused(recipe, says):
    with pytest.raises(ValidationError, match=says):
        TypeAdapter(Seq).validate_json(json.dumps({"name": "seq", **recipe}))
