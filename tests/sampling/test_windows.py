"""Windows by belief: the fewest rounds in which a prompt resolves with the wanted probability."""

from __future__ import annotations

import dataclasses

import pytest

from ada.recipe.errors import RecipeError
from ada.recipe.validate import read_recipe
from ada.sampling.schedules.seq import Seq
from ada.sampling.windows import BeliefWindow, fixed
from ada.types import Attempt, PassRate, Pool, Prompt, Response

PROMPT = Prompt("p", (1,), "", "s", "")
POS = Seq(exit="pos", check_every=4, max_draws=32, positives=1)
BALANCE = Seq(exit="balance", check_every=4, max_draws=32, positives=2)


def pool(mean: float | None, strength: float = 1e6, drawn: str = "") -> Pool:
    attempts = [Attempt(Response("p", i, (1,), (0.0,), "stop", 0), "", float(c == "+"), c == "+") for i, c in enumerate(drawn)]
    return Pool(PROMPT, None if mean is None else PassRate(mean, strength), 32, attempts)


@pytest.mark.parametrize(
    ("mean", "draws"),
    [
        (0.9, 4),  # 1 - 0.1^4 = 0.9999
        (0.33, 4),  # 1 - 0.67^4 = 0.798 < 0.8 at four; see below
        (0.2, 8),  # 1 - 0.8^4 = 0.59, 1 - 0.8^8 = 0.83
        (0.1, 16),  # 1 - 0.9^12 = 0.72, 1 - 0.9^16 = 0.81
        (0.05, 32),  # 1 - 0.95^28 = 0.76, 1 - 0.95^32 = 0.81
        (0.0, 32),  # never: all that are left
    ],
)
def test_the_fewest_rounds_that_resolve_with_the_probability(mean, draws):
    probability = 0.79 if mean == 0.33 else 0.8
    assert BeliefWindow(POS, probability)(pool(mean)) == draws


def test_balance_needs_both_sides():
    """At p = 1/2: P(2 <= X <= 2 of 4) = 6/16, P(2 <= X <= 6 of 8) = 1 - 2 * 9/256 = 0.93."""
    assert BeliefWindow(BALANCE, 0.37)(pool(0.5)) == 4
    assert BeliefWindow(BALANCE, 0.38)(pool(0.5)) == 8
    assert BeliefWindow(BALANCE, 0.8)(pool(1.0)) == 32  # no wrong answer will come


def test_what_was_seen_counts_towards_the_need_and_the_belief():
    assert BeliefWindow(BALANCE, 0.8)(pool(0.5, drawn="++++")) == 8  # two wrong ones of 4: 11/16, of 8: 0.96
    assert BeliefWindow(BALANCE, 0.65)(pool(0.5, drawn="++++")) == 4
    assert BeliefWindow(POS, 0.8)(pool(0.5, strength=3.0, drawn="-" * 12)) == 16  # (0.5 * 4) / 16 = 1/8: 1 - 0.88^12 = 0.784


def test_no_more_than_what_is_left_and_never_less_than_a_round():
    assert BeliefWindow(POS, 0.99)(pool(0.01, drawn="-" * 24)) == 8
    assert BeliefWindow(POS, 0.99)(pool(0.01, drawn="-" * 32)) == 4


def test_without_a_belief_it_is_the_papers_rounds():
    assert BeliefWindow(POS, 0.99)(pool(None)) == 4
    assert fixed(7)(pool(0.5)) == 7


def test_a_recipe_asks_for_it_by_name():
    _, recipe = read_recipe("micro_seq_balance", ["sampling.in_flight=belief", "sampling.passrate=ema", "sampling.resolve_probability=0.5"])
    assert recipe.sampling.window == BeliefWindow(recipe.sampling.schedule, 0.5)
    assert dataclasses.replace(recipe.sampling, in_flight=None).window is None
    _, stacked = read_recipe("micro_seq_balance_dapo", ["sampling.in_flight=belief", "sampling.passrate=ema"])
    assert isinstance(stacked.sampling.window, BeliefWindow)


def test_without_a_belief_or_a_stop_rule_it_is_refused():
    with pytest.raises(RecipeError, match="sampling.passrate.*in_flight `belief` needs a belief about pass rates"):
        read_recipe("micro_seq_balance", ["sampling.in_flight=belief"])
    with pytest.raises(RecipeError, match="sampling.in_flight = 'belief': schedule `uniform` has no stop rule"):
        read_recipe("micro_grpo_n4", ["sampling.in_flight=belief", "sampling.passrate=ema"])
