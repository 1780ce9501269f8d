"""Seeds of different draws, steps, collections and runs never meet."""

from __future__ import annotations

from itertools import product

from ada.sampling.seeds import seed_of


def test_no_two_draws_share_a_seed_E01():
    """A step's draws, the next step's, an evaluation's and another run's, with ids that read alike when they are joined."""
    prompts = [f"train/{i}" for i in range(60)] + ["a/1", "a/11", "a", "a/1/1"]
    names = [*(f"step-{step}" for step in range(1, 13)), "evaluation-heldout-1", "evaluation-heldout-11"]
    seeds = [seed_of(run, "draw", *of) for run in (0, 1) for of in product(names, prompts, range(64))]
    seeds += [seed_of(0, kind, name, prompt) for kind in ("pool", "group") for name, prompt in product(names, prompts)]
    assert len(set(seeds)) == len(seeds) > 100_000
    assert all(0 <= seed < 2**63 for seed in seeds)


def test_seeds_of_neighbouring_draws_have_nothing_in_common():
    """Each bit differs between a draw and the next in about half of 2,000 cases; one that did in all or none would show an offset."""
    pairs = [seed_of(0, "draw", "step-1", "p", i) ^ seed_of(0, "draw", "step-1", "p", i + 1) for i in range(2000)]
    for bit in range(63):
        assert 860 < sum(pair >> bit & 1 for pair in pairs) < 1140  # 6 standard deviations of 22
