"""Dynamic sampling: refilled to exactly B groups with a signal, whatever finishes first."""

from __future__ import annotations

import random

import pytest
from pydantic import TypeAdapter, ValidationError

from ada.sampling.schedules.dapo import Dapo, has_signal
from ada.sampling.schedules.seq import Seq
from ada.sampling.schedules.uniform import Uniform
from tests.sampling.pools import pool, sample


def collect(schedule, prompts, groups, finishing=None):
    """Opens what is wanted each time a pool closes; pools close in a random order. Returns the opened pools."""
    opened = []
    while True:
        opened += [pool("", id=f"test/{len(opened) + i}") for i in range(schedule.wanted(opened, groups))]
        running = [i for i, p in enumerate(opened) if p.outcome is None]
        if not running:
            return opened
        i = finishing.choice(running) if finishing else running[0]
        sample(schedule, [opened[i]], [prompts[i]])


def test_opens_the_shortest_run_with_enough_valid_prompts_in_any_order_of_finishing():
    prompts = ["RRRR", "WRWW", "WWWW", "WWWW", "RRRW", "RRRR", "WRRR", "FFFR", "RWWW", "RWWW"]  # valid: 1, 4, 6, 8, 9
    for groups, needed in [(1, 2), (2, 5), (3, 7), (4, 9), (5, 10)]:
        for order in range(20):
            opened = collect(Dapo(inner=Uniform(draws=4)), prompts, groups, random.Random(order))
            assert len(opened) == needed and sum(has_signal(p) for p in opened) == groups


@pytest.mark.parametrize("verdict", ["R", "W", "F"])
def test_an_uninformative_batch_ends_at_the_cap_A06(verdict):
    opened = collect(Dapo(inner=Uniform(draws=4), max_gen_batches=3), [verdict * 4] * 99, groups=4)
    assert sum(p.drawn for p in opened) == 4 * 4 * 3
    assert not any(has_signal(p) for p in opened)


def test_a_mix_of_dead_and_live_prompts_trains_on_what_there_is_A06():
    opened = collect(Dapo(inner=Uniform(draws=4), max_gen_batches=3), ["WWWW", "RRRR", "WWWW", "RWWW"] * 3, groups=4)
    assert len(opened) == 12 and sum(has_signal(p) for p in opened) == 3


def test_what_seq_leaves_without_a_signal_is_refilled():
    schedule = Dapo(inner=Seq(exit="balance", check_every=2, max_draws=4, positives=1))
    opened = collect(schedule, ["WWWW", "WWWR", "RR" * 2, "RW"], groups=2)
    assert [(p.drawn, p.outcome) for p in opened] == [(4, "exhausted"), (4, "resolved"), (4, "exhausted"), (2, "resolved")]


def test_an_inner_schedule_with_joint_budgets_is_refused():
    with pytest.raises(ValidationError, match="'uniform', 'seq', 'ngu'"):
        TypeAdapter(Dapo).validate_json('{"name": "dapo", "inner": "est"}')
    assert TypeAdapter(Dapo).validate_json('{"name": "dapo", "inner": "seq"}').inner == Seq()
