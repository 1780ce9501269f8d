"""The audit of a reward on data: golds that are right, wrong, unreadable or not tried, and a second opinion."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ada.check.audit import audit
from ada.check.problems import sums
from ada.data.sources import Row
from ada.rewards.config import Part, Reward
from tests.rewards.confined import needs_sandbox

pytestmark = pytest.mark.slow  # each starts reward workers
MATH = "ada.rewards.math:score"


def audited(reward: Reward, rows: list[Row], folder: Path) -> tuple[str, list[str]]:
    result = audit(reward, rows, folder, folder / "rewards.log")
    return "\n".join(result.seen), result.faults


def test_golds_in_their_boxes_are_right(tmp_path: Path) -> None:
    rows = [Row("1", "?", "\\boxed{180}"), Row("2", "?", "\\frac{1}{2}"), *sums(2)]
    seen, faults = audited(Reward(function=MATH, workers=1), rows, tmp_path)
    assert faults == []
    assert f"{MATH} calls 4 of 4 gold answers right" in seen and "without a verdict: 0.0%" in seen and "empty response is not right" in seen


def test_one_gold_of_two_hundred_that_cannot_be_read_is_told_and_tolerated_two_of_a_hundred_are_not(tmp_path: Path) -> None:
    (tmp_path / "strict.py").write_text(
        "def score(response, answer): return float(answer != 'odd' and answer in response)\n"
        "def gold_problem(answer): return 'it is odd' if answer == 'odd' else None\n"
    )
    reward = Reward(function="strict:score", workers=1)
    odd = [Row(f"odd-{i}", "?", "odd") for i in range(2)]
    seen, faults = audited(reward, [*sums(199), odd[0]], tmp_path)
    assert faults == [] and "calls 199 of 200 gold answers right" in seen
    assert "(row odd-0, gold 'odd'): failed with unreadable_gold" in seen and "without a verdict: 0.5% {'unreadable_gold': 1}" in seen
    _, faults = audited(reward, [*sums(98), *odd], tmp_path)
    assert [fault.split("row ")[1].split(",")[0] for fault in faults] == ["odd-0", "odd-1"]


def test_what_disagrees_with_a_second_function_is_shown(tmp_path: Path) -> None:
    (tmp_path / "second.py").write_text("def score(response, answer): return float('11' in response)\n")
    reward = Reward(function=MATH, audit="second:score", workers=1)
    rows = [Row("a", "?", "11"), Row("b", "?", "12"), Row("c", "?", "13")]
    # right: 11 for 11, 12 for 12, 13 for 13; wrong: 11 for 12, 12 for 13. The second one calls right both 11s only.
    seen, faults = audited(reward, rows, tmp_path)
    assert faults == [] and "second:score disagrees on 3 of 5 responses" in seen
    assert "wrong here: 'The answer is \\\\boxed{11}.' for gold '12'" in seen
    assert "right here: 'The answer is \\\\boxed{12}.' for gold '12'" in seen


@needs_sandbox
def test_golds_that_have_no_right_response_are_not_tried(tmp_path: Path) -> None:
    tests = [{"stdin": "1", "stdout": "1"}]
    rows = [Row("a", "?", json.dumps({"tests": tests, "solution": "print(input())"})), Row("b", "?", json.dumps({"tests": tests}))]
    parts = {"works": Part(function="ada.rewards.code:score", arguments={"seconds": 20.0, "total_seconds": 50.0})}
    parts["form"] = Part(function="ada.rewards.format:score", arguments={"pattern": ".*```.*"}, weight=0.1)
    seen, faults = audited(Reward(function=None, parts=parts, right="works", workers=1, time_limit_seconds=60.0), rows, tmp_path)
    assert faults == [], faults
    assert "calls 1 of 1 gold answers right" in seen and "not tried: 1 for which no right response can be written" in seen
