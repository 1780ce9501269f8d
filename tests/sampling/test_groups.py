"""Groups by hand, and that arrival order never matters."""

from __future__ import annotations

import random

import pytest
from pools import pool

from ada.sampling.grouping import group_of
from ada.sampling.groups.all import All
from ada.sampling.groups.balanced import Balanced


def verdicts(attempts):
    return "".join("R" if a.right else "W" if a.wrong else "F" for a in attempts)


@pytest.mark.parametrize(
    ("drawn", "size", "rights", "wrongs"),
    [
        ("RRRRWWWW", 4, 2, 2),
        ("RRRRWWWW", 5, 2, 3),
        ("RWWWWWWW", 4, 1, 3),
        ("RRRRRRRW", 4, 3, 1),
        ("RRRRRRRR", 4, 4, 0),
        ("WWWWWWWW", 4, 0, 4),
        ("RRW", 4, 2, 1),  # fewer than asked for: all
        ("RFFFWF", 4, 1, 1),
        ("RRRFFFFW", 4, 3, 1),
        ("FFFF", 4, 0, 0),
    ],
)
def test_balanced(drawn, size, rights, wrongs):
    chosen = Balanced().choose(pool(drawn), size, seed=7)
    assert (verdicts(chosen).count("R"), verdicts(chosen).count("W"), len(chosen)) == (rights, wrongs, rights + wrongs)
    assert len({a.response.draw for a in chosen}) == len(chosen)


def test_all_leaves_only_failures_out_A05():
    assert verdicts(All().choose(pool("RWFRW"), None, seed=0)) == "RWRW"
    with pytest.raises(ValueError, match="group size is 4"):
        All().choose(pool("RWFRW"), 4, seed=0)


@pytest.mark.parametrize("grouping", [Balanced()])
def test_arrival_order_does_not_matter_A02(grouping):
    drawn = pool("RWWRFWRRWWRWFRRW")
    chosen = [a.response.draw for a in grouping.choose(drawn, 6, seed=11)]
    for shuffle in range(20):
        random.Random(shuffle).shuffle(drawn.attempts)
        assert [a.response.draw for a in grouping.choose(drawn, 6, seed=11)] == chosen


def test_weights_bring_the_pools_shares_back():
    group = group_of(pool("RWWWWWWW"), Balanced(importance=True), 4, seed=3)  # N+/N = 1/8, n+/n = 1/4; N-/N = 7/8, n-/n = 3/4
    assert [w for w, a in zip(group.weights, group.attempts, strict=True) if a.right] == [pytest.approx(0.5)]
    assert [w for w, a in zip(group.weights, group.attempts, strict=True) if a.wrong] == [pytest.approx(7 / 6)] * 3
    assert group_of(pool("RWWWWWWW"), Balanced(), 4, seed=3).weights == (1.0,) * 4


def test_group_carries_the_facts_of_its_whole_pool():
    group = group_of(pool("RWWWFWWW", belief=0.3), Balanced(), 2, seed=3)
    assert (group.pass_rate, group.mean_reward, group.drawn, group.belief.mean) == (pytest.approx(1 / 7), pytest.approx(1 / 7), 8, 0.3)
    assert group_of(pool("FF"), Balanced(importance=True), 2, seed=3).attempts == ()
