"""Rewards of several named functions, sync and async, with arguments, weights and facts; and what becomes of a missing verdict."""

from __future__ import annotations

import importlib
import inspect
import re
import time
from pathlib import Path

import pytest

from ada.recipe.errors import RecipeError
from ada.recipe.validate import read_recipe
from ada.rewards.config import Part, Reward
from ada.rewards.functions import Facts
from ada.rewards.service import RewardService

pytestmark = pytest.mark.slow  # each starts reward workers
HERE = Path(__file__).parent
DOCUMENTATION = HERE.parents[1] / "docs" / "rewards.md"


def scored(reward, tasks, seconds=60.0):
    """Verdicts of (response, answer[, facts]), in order."""
    service = RewardService(reward, import_from=[HERE])
    try:
        for key, task in enumerate(tasks):
            service.submit(key, *task)
        found, deadline = {}, time.monotonic() + seconds
        while service.pending:
            assert time.monotonic() < deadline
            found |= dict(service.poll(1.0))
        return [found[key] for key in range(len(tasks))]
    finally:
        service.close()


def mine(name, **keys):
    return Part(function=f"scorers_of_a_user:{name}", **keys)


PARTS = {
    "correct": mine("equal", weight=2.0),
    "form": mine("with_arguments", weight=0.25, arguments={"suffix": "!", "factor": 3.0}),
    "length": mine("facts", weight=-0.01),
}


def test_named_parts_are_weighted_and_each_reported():
    reward = Reward(function=None, parts=PARTS, right="correct", workers=1)
    right, wrong, cut = scored(
        reward,
        [
            ("7!", "7!", Facts("prompt", 10, False)),
            ("8!", "7!", Facts("prompt", 0, False)),
            ("7!", "7!", Facts("prompt", 50, True)),  # cut off: only `length` is asked
        ],
    )
    assert right.reward == pytest.approx(2 + 0.75 - 0.1) and right.right
    assert dict(right.parts) == {"correct": 1.0, "form": 3.0, "length": 10.0, "length/cut off": 0.0, "length/asked": 6.0}
    assert wrong.reward == pytest.approx(0.75) and not wrong.right  # above the threshold, but the part that decides is not
    assert cut.reward == pytest.approx(-0.5) and not cut.right
    assert (cut.parts["correct"], cut.parts["form"], cut.parts["length/cut off"]) == (0.0, 0.0, 1.0)


def test_a_cut_off_response_is_never_right():
    reward = Reward(function="scorers_of_a_user:facts", workers=1)
    (verdict,) = scored(reward, [("7", "7", Facts("", 20, True))])
    assert verdict.reward == 20.0 and not verdict.right


def test_async_functions_wait_together_and_end_alone():
    reward = Reward(function="scorers_of_a_user:waits", workers=1, time_limit_seconds=4.0)
    began = time.monotonic()
    verdicts = scored(reward, [("7", "7"), ("8", "7"), ("forever", "7"), ("raise", "7"), *[("7", "7")] * 12])
    assert [v.reward for v in verdicts] == [1.0, 0.0, 0.0, 0.0] + [1.0] * 12
    assert [v.failure for v in verdicts[:4]] == [None, None, "timeout", "KeyError"]
    assert time.monotonic() - began < 20  # one after the other: half a second each, and the whole limit again for each


@pytest.mark.parametrize(("unknown", "counts"), [("masked", False), ("wrong", True)])
def test_a_missing_verdict_is_masked_or_counts_as_wrong_and_is_counted_either_way(unknown, counts):
    reward = Reward(function="scorers_of_a_user:equal", unknown=unknown, workers=1)
    service = RewardService(reward, import_from=[HERE])
    for key, response in enumerate(["riddle", "nothing"]):
        service.submit(key, response, "riddle")
    verdicts = {}
    while service.pending:
        verdicts |= dict(service.poll(1.0))
    service.close()
    assert verdicts[0].right and verdicts[0].failure is None  # spelled as the gold answer is
    assert (verdicts[1].failure, verdicts[1].right, verdicts[1].counts_wrong) == ("unreadable_gold", False, counts)
    assert service.failures == {"unreadable_gold": 1}


def test_the_queue_is_bounded_and_loses_nothing():
    service = RewardService(Reward(function="scorers_of_a_user:command", queue=3, workers=1), import_from=[HERE])
    most = 0
    for key in range(20):
        service.submit(key, "nap", "0.02")
        most = max(most, len(service._pending))
    verdicts = []
    while service.pending:
        verdicts += service.poll(1.0)
    service.close()
    assert most == 3 and sorted(key for key, _ in verdicts) == list(range(20)) and all(v.right for _, v in verdicts)


def test_gold_responses_come_from_the_deciding_part():
    reward = Reward(
        function=None, parts={"form": Part(function="ada.rewards.length:within", arguments={"most": 9}), **PARTS}, right="correct"
    )
    service = RewardService(reward, import_from=[HERE])
    assert service.gold_responses(["7", "secret"]) == ["is 7", None]
    service.close()
    service = RewardService(Reward(workers=1))
    assert service.gold_responses(["7", "\\boxed{8}"]) == ["The answer is \\boxed{7}.", "The answer is \\boxed{8}."]
    service.close()


@pytest.mark.parametrize(
    ("reward", "message"),
    [
        (Reward(function="scorers_of_a_user:with_arguments"), "missing a required .*argument: 'suffix'"),
        (Reward(function="scorers_of_a_user:with_arguments", arguments={"sufix": "!"}), "sufix='!'\\): missing"),
        (Reward(function="ada.rewards.format:score", arguments={"pattern": "("}), "no regular expression"),
        (Reward(function="ada.rewards.length:overlong", arguments={"limit": 10, "buffer": 11}), "the buffer is the last part of the limit"),
    ],
)
def test_arguments_are_checked_at_the_start(reward, message):
    with pytest.raises(ValueError, match=message):
        RewardService(reward, import_from=[HERE])


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["reward.parts.a.function=m:f"], "a reward has one or the other; set function=null"),
        (["reward.function=null"], "name a function, as module:function, or parts"),
        (["reward.function=null", "reward.parts.a.function=m:f", "reward.right=b"], "right = 'b' names no part; allowed: null, a"),
        (["reward.function=null", "reward.parts.a.function=m:f", "reward.arguments.x=1"], "set those of each part"),
        (["reward.function=null", "reward.parts.a.function=m:f", "reward.parts.a.wieght=1"], "did you mean 'weight'"),
        (["reward.function=m"], "reward.function"),
    ],
)
def test_what_makes_no_sense_in_a_recipe_is_refused(overrides, message):
    with pytest.raises(RecipeError) as caught:
        read_recipe("micro_seq_balance", overrides)
    assert message in str(caught.value)


def test_parts_in_a_recipe():
    _, recipe = read_recipe(
        "micro_seq_balance",
        ["reward.function=null", "reward.parts.a={function: 'm:f', weight: 0.5, arguments: {x: [1, y]}}", "reward.right=a"],
    )
    assert recipe.reward.named == {"a": Part(function="m:f", weight=0.5, arguments={"x": [1, "y"]})}


def test_the_documentation_names_what_there_is():
    """Every function of the table exists and takes the arguments that it names."""
    table = [line.split("|")[1:4] for line in DOCUMENTATION.read_text().splitlines() if line.startswith("| `ada.rewards.")]
    assert len(table) == len(set(function for function, _, _ in table)) >= 11
    for function, _, arguments in table:
        module, _, name = function.strip(" `").partition(":")
        parameters = inspect.signature(getattr(importlib.import_module(module), name)).parameters
        named = re.findall(r"`(\w+)(?:: ([^`]+))?`", arguments)
        assert {argument for argument, _ in named} <= parameters.keys(), function
        for argument, default in named:
            assert not default or parameters[argument].default == float(default), (function, argument)
