"""Never give up: what ends a prompt, and the coin."""

from __future__ import annotations

from itertools import repeat

import numpy as np
import pytest

from ada.sampling.schedules.ngu import NeverGiveUp
from tests.sampling.pools import pool, sample


@pytest.mark.parametrize(
    ("schedule", "drawn_if_asked", "drawn", "outcome"),
    [
        (NeverGiveUp(check_every=4, max_draws=16, again=1.0), "RRRR", 4, "gave_up"),
        (NeverGiveUp(check_every=4, max_draws=16, again=0.0), "WRWW", 4, "resolved"),
        (NeverGiveUp(check_every=4, max_draws=16, again=0.0), "WWWW", 4, "gave_up"),
        (NeverGiveUp(check_every=4, max_draws=16, again=1.0), "WWWWWWWWRRRR", 12, "resolved"),
        (NeverGiveUp(check_every=4, max_draws=16, again=1.0), "WWWWWWWWWWWWWWWW", 16, "exhausted"),
        (NeverGiveUp(check_every=2, max_draws=4, again=1.0), "FFFR", 4, "gave_up"),
    ],
)
def test_literal_draws(schedule, drawn_if_asked, drawn, outcome):
    (result,) = sample(schedule, [pool("")], [drawn_if_asked])
    assert (result.drawn, result.outcome) == (drawn, outcome)


def test_the_coin_has_probability_q_and_is_thrown_anew_each_round():
    schedule = NeverGiveUp(check_every=4, max_draws=12, again=0.3)
    drawn = np.array([sample(schedule, [pool("", seed=seed)], [repeat("W")])[0].drawn for seed in range(3000)])
    for rounds, probability in [(2, 0.3), (3, 0.09)]:
        error = np.sqrt(probability * (1 - probability) / 3000)
        assert abs((drawn >= 4 * rounds).mean() - probability) < 4 * error


def test_the_coin_belongs_to_the_pool_alone():
    schedule = NeverGiveUp(check_every=4, max_draws=64, again=0.7)
    seeds = list(range(30))
    together = sample(schedule, [pool("", id=f"test/{s}", seed=s) for s in seeds], [repeat("W")] * 30)
    for s, p in reversed(list(zip(seeds, together, strict=True))):
        assert sample(schedule, [pool("", seed=s)], [repeat("W")])[0].drawn == p.drawn
