"""Rewards for programs: the response's last Python block is run against tests, each in a process of its own that can reach nothing.

The gold answer is JSON, in one of two forms:

    {"tests": [{"stdin": "1 2\\n", "stdout": "3\\n"}, {"call": "add", "arguments": [1, 2], "returns": 3}], "solution": "..."}
    {"inputs": ["1 2\\n"], "outputs": ["3\\n"]}       with "fn_name": "add", inputs are lists of arguments and outputs values

`solution` is a program that passes, for the self-test of `ada check`; it may be left out. The program learns the input only: what it
prints or returns is compared here, so nothing that it does to its own process can pass a test.
"""

from __future__ import annotations

import json
import math
import re
import time
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from ada.rewards.functions import UnreadableGold
from ada.rewards.sandbox import run as sandbox
from ada.rewards.sandbox.run import Limits, Outcome

_FENCE = re.compile(r"[ ]{0,3}```[ ]*([\w+#-]*)[ ]*")
_LANGUAGES = ("", "python", "python3", "py")
_TOLERANCE = 1e-9  # relative and absolute, of numbers that are not whole


@dataclass(frozen=True, slots=True)
class Test:
    stdin: str
    call: tuple[str, list[Any]] | None
    expected: Any  # text of the standard output, or a call's value

    def passed(self, outcome: Outcome) -> bool:
        if not outcome.well:
            return False
        if self.call is None:
            return _lines(outcome.output) == _lines(self.expected)
        try:
            return same(self.expected, json.loads(outcome.output))
        except (ValueError, RecursionError):
            return False


def score(
    response: str,
    answer: str,
    *,
    seconds: float = 2.0,
    total_seconds: float = 8.0,
    memory_mib: int = 512,
    output_kib: int = 256,
    partial: bool = False,
) -> dict[str, float]:
    """`reward` 1.0 where every test passes, else 0.0 (`partial`: the share that passes); `passed`, that share.

    `seconds`: of one test; `total_seconds`: of all tests of one response, what is left is not passed. Keep it below
    reward.time_limit_seconds. `memory_mib`, `output_kib`: of the program. Without `partial` the first failure ends it.
    Raises UnreadableGold for a gold answer that holds no tests, OSError where the machine cannot confine a program.
    """
    tests, deadline, passed = tests_of(answer), time.monotonic() + total_seconds, 0
    program = program_of(response)
    for test in tests if program is not None else ():
        left = min(seconds, deadline - time.monotonic())
        if left <= 0:
            break
        outcome = sandbox.run(program or "", stdin=test.stdin, call=test.call, limits=Limits(left, memory_mib, output_kib))
        passed += test.passed(outcome)
        if not partial and not test.passed(outcome):
            break
    share = passed / len(tests)
    return {"reward": share if partial else float(passed == len(tests)), "passed": share}


def ready(*, seconds: float = 2.0, total_seconds: float = 8.0, **limits: Any) -> None:
    """Raises OSError, saying why, where this machine cannot confine a program: it is then not run at all."""
    if not 0 < seconds <= total_seconds:
        raise ValueError(f"seconds = {seconds} and total_seconds = {total_seconds}: allowed is 0 < seconds <= total_seconds")
    sandbox.check()


def gold_problem(answer: str) -> str | None:
    try:
        tests_of(answer)
    except UnreadableGold as error:
        return str(error)
    return None


def gold_response(answer: str) -> str | None:
    solution = json.loads(answer).get("solution") if gold_problem(answer) is None else None
    return f"```python\n{solution}\n```" if isinstance(solution, str) else None


def program_of(response: str) -> str | None:
    """The last closed block of Python, or of no language; None where there is none, or where a later one was cut off. Takes linear time."""
    program, begun, language = None, None, ""
    lines = response.replace("\r\n", "\n").split("\n")
    for number, line in enumerate(lines):
        fence = _FENCE.fullmatch(line)
        if fence and begun is None:
            begun, language = number + 1, fence[1].lower()
        elif fence and not fence[1]:
            if language in _LANGUAGES:
                program = "".join(line + "\n" for line in lines[begun:number])
            begun = None
    return program if begun is None else None


@lru_cache(maxsize=256)
def tests_of(answer: str) -> tuple[Test, ...]:
    """Raises UnreadableGold."""
    try:
        gold = json.loads(answer)
        if "tests" in gold:
            return _some([_test(test) for test in gold["tests"]])
        name, pairs = gold.get("fn_name"), list(zip(gold["inputs"], gold["outputs"], strict=True))
        if name is None:
            return _some([_test({"stdin": _text(given), "stdout": _text(expected)}) for given, expected in pairs])
        return _some([_test({"call": name, "arguments": given, "returns": expected}) for given, expected in pairs])
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise UnreadableGold(
            f"gold answer {answer!r:.100} holds no tests ({type(error).__name__}: {error}); "
            'needed is JSON such as {"tests": [{"stdin": "1 2", "stdout": "3"}]}'
        ) from None


def _some(tests: list[Test]) -> tuple[Test, ...]:
    if not tests:
        raise ValueError("no test at all")
    return tuple(tests)


def _test(test: dict[str, Any]) -> Test:
    if "call" in test:
        if not isinstance(test["call"], str) or not isinstance(test["arguments"], list):
            raise TypeError("call is a name and arguments a list")
        return Test("", (test["call"], test["arguments"]), test["returns"])
    if not isinstance(test["stdin"], str) or not isinstance(test["stdout"], str):
        raise TypeError("stdin and stdout are text")
    return Test(test["stdin"], None, test["stdout"])


def _text(value: Any) -> Any:
    return "\n".join(map(str, value)) if isinstance(value, list) else value


def _lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.rstrip().split("\n")]


def same(expected: Any, found: Any) -> bool:
    """Equal as JSON; a number that is not whole up to 1e-9."""
    if isinstance(expected, bool) or isinstance(found, bool) or expected is None:
        return expected is found
    if isinstance(expected, (int, float)) and isinstance(found, (int, float)):
        whole = isinstance(expected, int) and isinstance(found, int)
        try:
            return expected == found or (not whole and math.isclose(expected, found, rel_tol=_TOLERANCE, abs_tol=_TOLERANCE))
        except OverflowError:  # a whole number beyond all floats, beside a float
            return False
    if isinstance(expected, list) and isinstance(found, list):
        return len(expected) == len(found) and all(map(same, expected, found))
    if isinstance(expected, dict) and isinstance(found, dict):
        return expected.keys() == found.keys() and all(same(value, found[key]) for key, value in expected.items())
    return type(expected) is type(found) and bool(expected == found)
