"""DAPO's two ways with responses that are too long (arXiv 2503.14476, sec. 3.4)."""

from __future__ import annotations

import dataclasses

import pytest

from ada.sampling.grouping import group_of
from ada.sampling.groups.all import All
from ada.trainer.advantages.centred import Centred
from ada.trainer.credit import to_sequences
from ada.trainer.objectives.linear import Linear
from ada.trainer.overlong import SoftPenalty
from ada.types import Attempt, Pool, Prompt, Response


def attempt(draw: int, length: int, reward: float, failure: str | None = None, most: int = 20) -> Attempt:
    reason = "length" if length == most else "stop"
    return Attempt(Response("p", draw, (7,) * length, (-1.0,) * length, reason, 0), "", reward, reward > 0.5, failure)


def pool(*attempts: Attempt) -> Pool:
    return Pool(Prompt("p", (1, 2), "", "s", ""), attempts=list(attempts))


@pytest.mark.parametrize(("length", "penalty"), [(1, 0.0), (16, 0.0), (17, -0.25), (18, -0.5), (20, -1.0)])
def test_the_penalty_rises_linearly_over_the_buffer(length, penalty):
    assert SoftPenalty(buffer_tokens=4).penalty(length, 20) == penalty
    assert SoftPenalty(buffer_tokens=4, weight=0.5).penalty(length, 20) == penalty / 2


def test_the_papers_numbers():
    """Expected length 16,384, buffer 4,096: at 18,432 tokens half of the buffer is used."""
    soft = SoftPenalty(buffer_tokens=4096)
    assert [soft.penalty(length, 20480) for length in (16384, 18432, 20480)] == [0, -0.5, -1]


def test_it_shapes_rewards_and_their_mean_but_no_verdict():
    before = pool(attempt(0, 10, 1.0), attempt(1, 18, 1.0), attempt(2, 20, 0.0), attempt(3, 20, 0.0, failure="timeout"))
    after = SoftPenalty(buffer_tokens=4).shape(before, 20)
    assert [a.reward for a in after.attempts] == [1.0, 0.5, -1.0, 0.0]
    assert (after.right, after.wrong, after.pass_rate) == (before.right, before.wrong, before.pass_rate)
    assert after.mean_reward == pytest.approx(0.5 / 3)
    assert before.attempts[2].reward == 0.0
    counted = dataclasses.replace(before.attempts[3], counts_wrong=True)  # a failure that the recipe counts as a wrong answer
    assert SoftPenalty(buffer_tokens=4).shape(pool(counted), 20).attempts[0].reward == -1.0
    group = group_of(after, All(), None, 0)
    assert Centred(baseline="pool").advantages(group) == pytest.approx([5 / 6, 2 / 6, -7 / 6])


@pytest.mark.parametrize(("truncated", "trained"), [("keep", [10, 20, 12]), ("drop", [10, 12])])
def test_cut_off_responses_are_left_out_and_the_others_keep_their_credit_M02(truncated, trained):
    group = group_of(pool(attempt(0, 10, 1.0), attempt(1, 20, 0.0), attempt(2, 12, 0.0)), All(), None, 0)
    found = to_sequences([group], Centred(baseline="pool"), Linear(), "keep", truncated)
    assert [len(s.response_ids) for s in found] == trained
    assert {len(s.response_ids): s.advantage for s in found}[10] == pytest.approx(2 / 3)
    assert {len(s.response_ids): s.advantage for s in found}[12] == pytest.approx(-1 / 3)


def test_a_response_that_stopped_at_its_last_token_is_complete_M02():
    stopped = attempt(0, 20, 1.0)
    stopped = dataclasses.replace(stopped, response=dataclasses.replace(stopped.response, finish_reason="stop"))
    group = group_of(pool(stopped, attempt(1, 5, 0.0)), All(), None, 0)
    assert len(to_sequences([group], Centred(), Linear(), "keep", "drop")) == 2
