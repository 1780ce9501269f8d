"""Programs scored by tests: right ones, wrong ones, and those that try to look right."""

from __future__ import annotations

import json
import time
import uuid
from pathlib import Path

import psutil
import pytest

from ada.rewards.code import gold_problem, gold_response, program_of, same, score
from ada.rewards.config import Reward
from ada.rewards.functions import UnreadableGold
from ada.rewards.service import RewardService
from tests.rewards.confined import needs_sandbox

pytestmark = needs_sandbox
ADD = json.dumps(
    {
        "tests": [{"stdin": "1 2\n", "stdout": "3\n"}, {"call": "add", "arguments": [20, 22], "returns": 42}],
        "solution": "def add(a, b):\n    return a + b\nif __name__ == '__main__':\n    print(add(*map(int, input().split())))",
    }
)
SECONDS = {"seconds": 20.0, "total_seconds": 60.0}  # a loaded machine starts a process slowly


def block(program: str) -> str:
    return f"So the program is\n```python\n{program}\n```\nwhich adds."


def rewarded(program: str, answer: str = ADD, **arguments: object) -> float:
    return score(block(program), answer, **{**SECONDS, **arguments})["reward"]  # type: ignore[arg-type]


def test_the_gold_solution_passes_its_tests() -> None:
    response = gold_response(ADD)
    assert response is not None and score(response, ADD, **SECONDS) == {"reward": 1.0, "passed": 1.0}


HOSTILE = {
    "prints a verdict": "print('PASSED'); print('{\"reward\": 1.0}'); print(1.0)",
    "leaves with success": "import os; os._exit(0)",
    "leaves with success, politely": "raise SystemExit(0)",
    "prints at exit": "import atexit; atexit.register(print, 'ok')",
    "makes everything equal": """
class Same:
    def __eq__(self, other): return True
    def __ne__(self, other): return False
def add(a, b): return Same()
import builtins, json
json.dumps = lambda value, **_: '"anything"'
builtins.print('anything')""",
    "reads the tests": """
import os, gc, sys, glob
for path in [*glob.glob('/tmp/**', recursive=True), *glob.glob('/proc/*/cmdline'), *glob.glob('../*')]:
    try: print(open(path).read())
    except Exception: pass
def add(a, b):
    return [o for o in gc.get_objects() if isinstance(o, dict) and 'returns' in o]""",
    "looks into its caller": """
import sys
def add(a, b):
    frame = sys._getframe()
    while frame:
        for value in frame.f_locals.values():
            if isinstance(value, dict) and 'call' in value: return value
        frame = frame.f_back""",
    "writes to every descriptor": """
import os
for fd in range(3, 64):
    try: os.write(fd, b'3\\n42')
    except OSError: pass
def add(a, b): return 0""",
    "returns what no float can hold": "def add(a, b): return 10 ** 400",
    "returns what cannot be read": "import json\njson.dumps = lambda value: '[' * 100_000\ndef add(a, b): return 0",
    "fork bomb": "import os\nwhile True:\n    try: os.fork()\n    except OSError: break",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_no_trick_passes_a_test(name: str) -> None:
    assert score(block(HOSTILE[name]), ADD, **SECONDS, partial=True) == {"reward": 0.0, "passed": 0.0}


def test_a_program_that_knows_one_answer_passes_one_test() -> None:
    assert score(block("print(3)"), ADD, **SECONDS, partial=True) == {"reward": 0.5, "passed": 0.5}
    assert rewarded("print(3)") == 0.0


def test_a_program_out_of_time_is_wrong_not_unknown() -> None:
    assert rewarded("import time; time.sleep(600)", seconds=0.5) == 0.0


def running(marker: str) -> bool:
    return any(marker in " ".join(process.info["cmdline"] or ()) for process in psutil.process_iter(["cmdline"]))


@pytest.mark.slow
def test_a_program_ends_with_the_worker_that_is_killed_at_its_limit() -> None:
    marker = f"marker-{uuid.uuid4()}"
    gold = json.dumps({"tests": [{"call": "wait", "arguments": [marker], "returns": 1}]})
    reward = Reward(function="ada.rewards.code:score", arguments={"seconds": 90, "total_seconds": 90}, workers=1, time_limit_seconds=8.0)
    service = RewardService(reward)
    service.submit("stuck", block("import time\ndef wait(marker): time.sleep(600)"), gold)
    service.submit("next", block("def wait(marker): return 1"), gold)
    service.poll()
    deadline = time.monotonic() + 90
    while not running(marker):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    verdicts = {}
    while service.pending:
        assert time.monotonic() < deadline
        verdicts |= dict(service.poll(1.0))
    assert verdicts["stuck"].failure == "timeout" and verdicts["next"].right
    while running(marker):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    scratch = Path(service._scratch.name)
    service.close()
    assert not scratch.exists()


def test_output_is_compared_without_trailing_space_and_with_its_errors() -> None:
    answer = json.dumps({"inputs": ["x"], "outputs": ["a b\nc\n\n"]})
    assert rewarded("print('a b  ')\nprint('c')", answer) == 1.0
    assert rewarded("print('a  b')\nprint('c')", answer) == 0.0
    assert rewarded("print('a b')\nprint('c')\n1 / 0", answer) == 0.0


def test_calls_of_methods_in_the_form_of_public_sets() -> None:
    answer = json.dumps({"fn_name": "Solution.half", "inputs": [[3], [4]], "outputs": [1.5, 2]})
    assert rewarded("class Solution:\n    def half(self, n):\n        return n / 2", answer) == 1.0


@pytest.mark.parametrize(
    ("response", "program"),
    [
        ("```python\na\n```", "a\n"),
        ("```\na\n```", "a\n"),
        ("```python\na\n```\nbetter:\n```py\nb\n```\nDone.", "b\n"),
        ("```python\na\n```\nbetter:\n```python\nb", None),  # cut off
        ("```python\na", None),
        ("print(1)", None),
        ("```cpp\nint x;\n```", None),
        ("```cpp\nint x;\n```\n```python\na\n```\nIt prints\n```text\n3\n```", "a\n"),
        ("```python\na\n```\n```text\n3", None),  # cut off
        ("```python\r\na\r\n```", "a\n"),
    ],
)
def test_the_last_closed_block_is_the_program(response: str, program: str | None) -> None:
    assert program_of(response) == program


def test_fences_without_end_take_no_time() -> None:
    """Else a response could run into the time limit, and have no verdict instead of a wrong one."""
    before = time.thread_time()
    assert program_of("```python\n" * 100_000) is None and program_of("```\nx\n```x\n" * 50_000) is None
    assert time.thread_time() - before < 2.0


@pytest.mark.parametrize(
    "gold", ["", "3", "[]", "{}", '{"tests": []}', '{"tests": [{"stdin": 1, "stdout": "1"}]}', '{"inputs": ["1"], "outputs": []}']
)
def test_a_gold_answer_without_tests_is_no_verdict(gold: str) -> None:
    assert gold_problem(gold)
    with pytest.raises(UnreadableGold, match="holds no tests"):
        score(block("print(1)"), gold)


@pytest.mark.parametrize(
    ("expected", "found", "equal"),
    [
        (1, 1.0, True),
        (1, True, False),
        (0.1 + 0.2, 0.3, True),
        (10**20, 10**20 + 1, False),
        ([1, [2]], [1, [2]], True),
        ([1], [1, 2], False),
        (10**400, 1.5, False),  # no float is as large
        (1.5, 10**400, False),
    ]
    + [({"a": 1}, {"a": 1.0}, True), ({"a": 1}, {}, False), ("1", 1, False), (None, 0, False), (None, None, True), ("a", "a", True)],
)
def test_values_are_compared_as_json(expected: object, found: object, equal: bool) -> None:
    assert same(expected, found) is equal
