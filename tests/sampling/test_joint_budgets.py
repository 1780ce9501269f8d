"""Est and two_stage: budgets that depend on all prompts of the step."""

from __future__ import annotations

from itertools import cycle

import pytest
from pydantic import TypeAdapter, ValidationError

from ada.sampling.schedules.est import Est
from ada.sampling.schedules.two_stage import TwoStage
from tests.sampling.pools import pool, sample


def believed(*pass_rates):
    return [pool("", id=f"test/{i}", belief=p) for i, p in enumerate(pass_rates)]


def test_est_by_hand():
    half = Est(mean_draws=8, exponent=0.5, epsilon=0.01, min_draws=1, max_draws=32)
    assert half.budgets(believed(0.24, 0.03, 0.99)) == [6, 15, 3]  # (0.25, 0.04, 1)^-1/2 = 2, 5, 1
    full = Est(mean_draws=10, exponent=1.0, epsilon=0.01, min_draws=1, max_draws=32)
    assert full.budgets(believed(0.24, 0.03, 0.99)) == [4, 25, 1]
    assert Est(mean_draws=5, exponent=0.0, min_draws=1).budgets(believed(0.1, 0.9)) == [5, 5]
    assert sum(Est(mean_draws=4.5).budgets(believed(*[0.1, 0.5, 0.9] * 10))) == 135


def test_est_draws_its_budgets_and_asks_no_more():
    schedule = Est(mean_draws=8, exponent=0.5, epsilon=0.01, min_draws=1, max_draws=32)
    pools = sample(schedule, believed(0.24, 0.03, 0.99), [cycle("RW")] * 3)
    assert [(p.drawn, p.outcome) for p in pools] == [(6, "exhausted"), (15, "exhausted"), (3, "exhausted")]


def test_est_without_a_belief_says_what_to_do():
    with pytest.raises(ValueError, match="test/0 has none: name a pass-rate estimator"):
        Est().budgets([pool("")])


def test_raft_by_hand():
    schedule = TwoStage(explore=4, mean_draws=11, max_draws=32, rule="raft", floor=0.0625)
    pools = [pool("", id=f"test/{i}") for i in range(3)]
    assert schedule.budgets(pools) == [4, 4, 4]
    sample(schedule, pools, [cycle("RWWW"), cycle("R"), cycle("W")])  # 1/sqrt(0.25, 1, 0.0625) = 2, 1, 4: 21 draws as 6, 3, 12
    assert [p.drawn for p in pools] == [10, 7, 16]
    assert schedule.budgets(pools) == [10, 7, 16]


def test_baseline_by_hand():
    schedule = TwoStage(explore=5, mean_draws=8.5, max_draws=32, rule="baseline", floor=0.1)
    pools = [pool(drawn, id=f"test/{i}") for i, drawn in enumerate(["RWWWW", "RRRRR", "WWWWW", "FFFFF"])]
    # sqrt((1-p)/p) at p = 0.2, 1 and 0.1 is 2, 0, 3; no verdict counts as 0. Of 34 draws 14 are left: 5.6 and 8.4.
    assert schedule.budgets(pools) == [11, 5, 13, 5]
    pools[0].attempts[:] = pool("RWWWWRRRRRR").attempts  # the second stage's draws change nothing
    assert schedule.budgets(pools) == [11, 5, 13, 5]


def test_unsolvable_and_solved_prompts_end_A06():
    schedule = TwoStage(explore=2, mean_draws=6, max_draws=8)
    pools = sample(schedule, [pool("", id=f"test/{i}") for i in range(4)], [cycle("W")] * 2 + [cycle("R")] * 2)
    assert sum(p.drawn for p in pools) == 24 and max(p.drawn for p in pools) <= 8 and all(p.outcome == "exhausted" for p in pools)


@pytest.mark.parametrize(
    ("method", "recipe", "says"),
    [
        (Est, {"name": "est", "mean_draws": 40}, "schedule.mean_draws is 40.0, outside schedule.min_draws = 2 to schedule.max_draws = 32"),
        (Est, {"name": "est", "mean_draws": 1}, "schedule.mean_draws is 1.0"),
        (TwoStage, {"name": "two_stage", "explore": 8, "mean_draws": 8}, "more than schedule.explore = 8"),
    ],
)
def test_recipes_that_cannot_hold_are_refused(method, recipe, says):
    with pytest.raises(ValidationError, match=says):
        TypeAdapter(method).validate_python(recipe, strict=False)
