"""What is said about a step that could not learn, or not from all that it asked for."""

from __future__ import annotations

import pytest

from ada.observability.metrics import signal_metrics
from ada.observability.remarks import remarks
from ada.recipe.validate import read_recipe
from ada.types import Sequence
from tests.sampling.pools import pool


@pytest.fixture(scope="module")
def recipes():
    names = ("micro_grpo_n4", "micro_dapo_n4")
    return [read_recipe(name, ["batch.prompts_per_step=4", "batch.updates_per_step=1"])[1] for name in names]


def trained(*groups: int) -> list[Sequence]:
    return [Sequence((1,), (2,), (0.0,), 0.5, group) for group in groups]


def test_a_step_without_a_gradient_says_so_A06(recipes):
    pools = [pool("RRRR"), pool("WWWW"), pool("WWWW"), pool("FFFF")]
    for recipe in recipes:
        (remark,) = remarks(recipe, 7, pools, [])
        assert remark == "step 7: none of 4 prompts has a gradient (1 all right, 2 all wrong): no update is taken"


def test_dapo_says_what_it_trains_on_at_its_cap_A06(recipes):
    uniform, dapo = recipes
    pools = [pool("RWWW")] * 36
    (remark,) = remarks(dapo, 7, pools, trained(0, 0, 5, 9))
    assert "3 of 4 groups have a gradient" in remark and "36 were, max_gen_batches = 9" in remark
    assert list(remarks(dapo, 7, pools, trained(0, 1, 2, 3))) == list(remarks(uniform, 7, pools[:4], trained(0))) == []


def test_the_share_without_a_gradient_is_of_what_a_step_asks_for():
    """Two of four groups; DAPO that opened 9 prompts for its 4 has none without; nothing trained on is all of them."""
    assert signal_metrics(4, trained(0, 0, 3)) == {"signal/zero_gradient_fraction": 0.5}
    assert signal_metrics(4, trained(1, 3, 6, 8)) == {"signal/zero_gradient_fraction": 0.0}
    assert signal_metrics(4, []) == {"signal/zero_gradient_fraction": 1.0}
