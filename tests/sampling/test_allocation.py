"""Integer allocation: by hand, and its properties for any weights and bounds."""

from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ada.sampling.allocation import allocate
from ada.sampling.schedules.est import Est
from tests.sampling.pools import pool


@pytest.mark.parametrize(
    ("weights", "total", "minimum", "maximum", "expected"),
    [
        ([1, 1, 2], 8, 1, 8, [2, 2, 4]),
        ([1, 1, 2], 8, 1, 3, [3, 2, 3]),  # 4 clipped to 3, the other two share 5
        ([4, 1, 1, 1, 1], 16, 1, 6, [6, 3, 3, 2, 2]),  # 8 clipped to 6, the other four share 10
        ([1, 2, 4], 10, 2, 10, [2, 3, 5]),  # 10/7 raised to 2, 8 shared as 2 2/3 and 5 1/3
        ([1, 100], 12, 3, 8, [4, 8]),  # the maximum hands back more than the minimum took
        ([0, 1, 1], 9, 0, 4, [1, 4, 4]),
        ([0, 0, 0], 5, 0, 4, [2, 2, 1]),
        ([5, 1], 4, 2, 2, [2, 2]),
        ([], 0, 1, 4, []),
    ],
)
def test_by_hand(weights, total, minimum, maximum, expected):
    assert allocate(weights, total, minimum, maximum).tolist() == expected


@st.composite
def problems(draw):
    weights = draw(st.lists(st.one_of(st.floats(1e-4, 1e4), st.sampled_from([0.0, 0.5, 1.0])), min_size=1, max_size=40))
    minimum = draw(st.integers(0, 6))
    maximum = minimum + draw(st.integers(0, 60))
    return weights, draw(st.integers(len(weights) * minimum, len(weights) * maximum)), minimum, maximum


@settings(deadline=None, max_examples=300)
@given(problems())
def test_exact_bounded_monotone_and_proportional(problem):
    weights, total, minimum, maximum = problem
    draws = allocate(weights, total, minimum, maximum)
    assert draws.sum() == total and draws.min() >= minimum and draws.max() <= maximum
    weights = np.array(weights)
    more = weights[:, None] > weights[None, :]
    assert (draws[:, None] >= draws[None, :])[more].all()
    assert abs(np.subtract.outer(draws, draws)[np.equal.outer(weights, weights)]).max() <= 1
    free = (draws > minimum) & (draws < maximum) & (weights > 0)
    if free.sum() > 1:  # each is within one draw of c w, for one c
        assert ((draws - 1) / np.where(free, weights, np.inf)).max() <= ((draws + 1)[free] / weights[free]).min() * (1 + 1e-9)


@pytest.mark.parametrize("total", [119, 161])
def test_a_total_outside_the_bounds_is_refused(total):
    with pytest.raises(
        ValueError, match=f"total of {total} draws cannot be divided over 4 prompts with 30 to 40 draws each.*from 120 to 160"
    ):
        allocate([1, 2, 3, 4], total, 30, 40)


@pytest.mark.parametrize("weight", [float("nan"), float("inf"), -1.0])
def test_weights_that_mean_nothing_are_refused(weight):
    with pytest.raises(ValueError, match="finite and not negative"):
        allocate([1.0, weight], 4, 1, 4)


def test_a_hundred_thousand_prompts_take_no_time():
    """Of the schedule, beliefs read one by one; in time of this process, as the machine may be busy."""
    rates = np.random.default_rng(0).beta(0.5, 1.5, 100_000).tolist()
    pools = [pool("", id=f"test/{i}", belief=rate) for i, rate in enumerate(rates)]
    times = []
    for _ in range(5):
        start = time.process_time()
        budgets = Est(mean_draws=8, epsilon=0.02).budgets(pools)
        times.append(time.process_time() - start)
        assert sum(budgets) == 800_000
    assert min(times) < 0.05
