"""Groups by hand, and that arrival order never matters."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from ada.sampling.grouping import group_of
from ada.sampling.groups.all import All
from ada.sampling.groups.balanced import Balanced
from ada.sampling.groups.max_variance import MaxVariance
from ada.sampling.groups.positives import Positives
from ada.sampling.groups.random import Random
from ada.types import Pool
from tests.sampling.pools import attempt, pool, prompt, verdicts


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
@pytest.mark.parametrize("grouping", [Balanced(), MaxVariance()])
def test_balanced_and_max_variance_of_right_and_wrong(grouping, drawn, size, rights, wrongs):
    chosen = grouping.choose(pool(drawn), size, seed=7)
    assert (verdicts(chosen).count("R"), verdicts(chosen).count("W"), len(chosen)) == (rights, wrongs, rights + wrongs)
    assert len({a.response.draw for a in chosen}) == len(chosen)


def test_all_leaves_only_failures_out_A05():
    assert verdicts(All().choose(pool("RWFRW"), None, seed=0)) == "RWRW"
    with pytest.raises(ValueError, match="group size is 4"):
        All().choose(pool("RWFRW"), 4, seed=0)


@pytest.mark.parametrize("grouping", [Balanced(), MaxVariance(), Random(), Positives()])
def test_arrival_order_does_not_matter_A02(grouping):
    drawn = pool("RWWRFWRRWWRWFRRW")
    chosen = [a.response.draw for a in grouping.choose(drawn, 6, seed=11)]
    for shuffle in range(20):
        random.Random(shuffle).shuffle(drawn.attempts)
        assert [a.response.draw for a in grouping.choose(drawn, 6, seed=11)] == chosen
    others = [[a.response.draw for a in grouping.choose(drawn, 4, seed=seed)] for seed in range(20)]
    assert len({tuple(o) for o in others}) > 5 and all(o == sorted(o) for o in others)


def test_weights_bring_the_pools_shares_back():
    group = group_of(pool("RWWWWWWW"), Balanced(importance=True), 4, seed=3)  # N+/N = 1/8, n+/n = 1/4; N-/N = 7/8, n-/n = 3/4
    assert [w for w, a in zip(group.weights, group.attempts, strict=True) if a.right] == [pytest.approx(0.5)]
    assert [w for w, a in zip(group.weights, group.attempts, strict=True) if a.wrong] == [pytest.approx(7 / 6)] * 3
    assert group_of(pool("RWWWWWWW"), Balanced(), 4, seed=3).weights == (1.0,) * 4


def test_group_carries_the_facts_of_its_whole_pool():
    group = group_of(pool("RWWWFWWW", belief=0.3), Balanced(), 2, seed=3)
    assert (group.pass_rate, group.mean_reward, group.drawn, group.belief.mean) == (pytest.approx(1 / 7), pytest.approx(1 / 7), 8, 0.3)
    assert group_of(pool("FF"), Balanced(importance=True), 2, seed=3).attempts == ()


def test_positives():
    assert verdicts(Positives().choose(pool("RWFRWR"), None, seed=0)) == "RRR"
    assert verdicts(Positives().choose(pool("RWFRWR"), 2, seed=0)) == "RR"
    assert Positives().choose(pool("WWF"), 2, seed=0) == []


def test_random_takes_each_attempt_equally_often():
    drawn = pool("RFWWWRW")
    taken = np.zeros(7)
    for seed in range(3000):
        taken[[a.response.draw for a in Random().choose(drawn, 2, seed)]] += 1
    assert taken[1] == 0
    np.testing.assert_allclose(np.delete(taken, 1) / 3000, 1 / 3, atol=4 * np.sqrt(2 / 9 / 3000))  # 4 standard errors


def test_max_variance_is_the_best_of_all_subsets():
    for seed in range(20):
        rewards = np.random.default_rng(seed).choice([-1.0, 0.0, 0.1, 0.5, 1.0, 2.0], size=8)
        attempts = [replace(attempt("R", draw), reward=float(reward)) for draw, reward in enumerate(rewards)]
        for size in (1, 2, 3, 5, 8):
            chosen = MaxVariance().choose(Pool(prompt(), attempts=attempts), size, seed)
            best = max(np.var(subset) for subset in combinations(rewards, size))
            assert len(chosen) == size and np.var([a.reward for a in chosen]) == pytest.approx(best)


@pytest.mark.parametrize("grouping", [Balanced, MaxVariance])
@pytest.mark.parametrize(("drawn", "size"), [("RRWWWWWWWW", 4), ("RRRRRRRRRW", 4), ("RRRRRWFWWW", 3)])
def test_importance_makes_the_group_unbiased_for_the_pool(drawn, size, grouping):
    def gradient(a):
        return (1.0 if a.right else -0.3) * (1 + a.response.draw)  # any numbers that differ within a side

    full = pool(drawn)
    target = np.mean([gradient(a) for a in full.attempts if a.failure is None])
    groups = [group_of(full, grouping(importance=True), size, seed) for seed in range(4000)]
    weighted = [np.mean([w * gradient(a) for w, a in zip(g.weights, g.attempts, strict=True)]) for g in groups]
    plain = [np.mean([gradient(a) for a in g.attempts]) for g in groups]
    assert abs(np.mean(weighted) - target) < 4 * np.std(weighted) / np.sqrt(4000)
    assert abs(np.mean(plain) - target) > 8 * np.std(plain) / np.sqrt(4000)


@pytest.mark.parametrize("grouping", [Balanced(), MaxVariance(), Random()])
def test_a_missing_size_is_refused(grouping):
    with pytest.raises(ValueError, match=f"grouping `{grouping.name}` needs a group size of at least 1, found None"):
        grouping.choose(pool("RW"), None, seed=0)
    with pytest.raises(ValueError, match="group size of at least 2"):
        Balanced(importance=True).choose(pool("RW"), 1, seed=0)


def test_weighted_positives_are_what_the_right_answers_contribute():
    """Of 2 right and 6 wrong: with weight 1/4 the mean over the right ones is the sum over them divided by all 8."""
    group = group_of(pool("RWWWRWWW"), Positives(importance=True), None, seed=0)
    assert (verdicts(group.attempts), group.weights) == ("RR", (0.25, 0.25))


def test_weighted_positives_of_two_prompts_weigh_as_their_pass_rates():
    """Of 8, 1, 2 and 6 right: of groups of 4 the sums of the weights, which an update adds up, are 4/8, 8/8 and 24/8."""
    pools = [pool("R" * right + "W" * (8 - right)) for right in (1, 2, 6)]
    assert [sum(group_of(p, Positives(importance=True), 4, seed=0).weights) for p in pools] == [0.5, 1.0, 3.0]
