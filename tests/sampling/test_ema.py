"""The discounted Beta belief."""

from __future__ import annotations

import json

import pytest

from ada.sampling.passrate.ema import EMA
from ada.types import PassRate
from tests.sampling.pools import pool, prompt


def test_by_hand():
    estimator = EMA(discount=0.5, prior_right=1.0, prior_wrong=2.0).start()
    assert estimator.believe([prompt()]) == [PassRate(mean=pytest.approx(1 / 3), strength=0.0)]
    estimator.learn([pool("RRWW")])  # T = 4, P = 2
    assert estimator.believe([prompt()]) == [PassRate(mean=pytest.approx(3 / 7), strength=4.0)]
    estimator.learn([pool("WRWWFF")])  # T = 0.5 * 4 + 4 = 6, P = 0.5 * 2 + 1 = 2
    assert estimator.believe([prompt()]) == [PassRate(mean=pytest.approx(3 / 9), strength=6.0)]
    estimator.learn([pool("FF")])
    assert estimator.believe([prompt()])[0].strength == 6.0


def test_sources_never_share_a_belief_A07():
    estimator = EMA(discount=1.0, prior_right=1.0, prior_wrong=1.0).start()
    for _ in range(8):
        estimator.learn([pool("R", id="a/0"), pool("W", id="b/0")])
    assert [b.mean for b in estimator.believe([prompt("a/0"), prompt("b/0")])] == [pytest.approx(0.9), pytest.approx(0.1)]


def test_state_survives_a_checkpoint():
    estimator, resumed = EMA(discount=0.7).start(), EMA(discount=0.7).start()
    estimator.learn([pool("RRW", id="a/1"), pool("WWW", id="a/2")])
    state = estimator.state_dict()
    estimator.learn([pool("RRR", id="a/1")])
    resumed.load_state_dict(json.loads(json.dumps(state)))
    resumed.learn([pool("RRR", id="a/1")])
    everyone = [prompt("a/1"), prompt("a/2"), prompt("a/3")]
    assert resumed.believe(everyone) == estimator.believe(everyone)
