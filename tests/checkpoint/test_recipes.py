from __future__ import annotations

import pytest

from ada.checkpoint.recipes import BOUND, differences, is_among
from ada.recipe.errors import RecipeError
from ada.recipe.validate import read_recipe


def recipe(*overrides: str):
    return read_recipe("micro_seq_balance", list(overrides))[1]


@pytest.mark.parametrize(
    "free",
    ["steps=9", "checkpoints.every=3", "checkpoints.keep=1", "tracking.wandb=off", "output=there", "run_name=x", "watch.hang_seconds=9"],
)
def test_how_far_a_run_goes_and_what_is_kept_may_change(free):
    assert differences(recipe(free), recipe()) == []


@pytest.mark.parametrize(
    ("override", "told"),
    [
        ("seed=1", "seed = 1 (the run has 0)"),
        ("trainer.learning_rate=0.5", "trainer.learning_rate = 0.5 (the run has 0.0001)"),
        ("data.selection=mopps", "data.selection.name = 'mopps' (the run has 'shuffle')"),
        ("sampling.schedule.max_draws=16", "sampling.schedule.max_draws = 16 (the run has 32)"),
    ],
)
def test_any_other_key_is_named_with_both_values(override, told):
    assert told in differences(recipe(override), recipe())


def test_what_can_never_change():
    changed = differences(recipe("seed=1", "data.selection=mopps", "trainer.learning_rate=0.5"), recipe())
    keys = [line.partition(" = ")[0] for line in changed]
    assert [key for key in keys if not is_among(key, BOUND)] == ["trainer.learning_rate"]
    assert not is_among("database.x", ("data",))


def test_going_on_needs_a_name():
    with pytest.raises(RecipeError, match="name it with run_name"):
        recipe("resume=must")
    assert recipe("resume=must", "run_name=x").resume == "must"
