"""The truth set: responses of many kinds with the verdict a careful human gives, scored from the main thread and from a worker thread.

Lines of `verdicts.jsonl`: gold, response, verdict; `debatable` ones must only be quick. A long response is a list of [text, times];
where `counted` is set, {i} in the text stands for the number of the repetition.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ada.rewards.math import score

CASES: list[dict[str, Any]] = [json.loads(line) for line in (Path(__file__).parent / "verdicts.jsonl").read_text().splitlines()]
SECONDS = 2.0  # the most any case may take; all of them together take about one


def response_of(case: dict[str, Any]) -> str:
    response = case["response"]
    if isinstance(response, str):
        return response
    if not case.get("counted"):
        return "".join(text * times for text, times in response)
    return "".join(text.replace("{i}", str(i)) for text, times in response for i in range(times))


def in_main_thread(task: Callable[[], None]) -> None:
    task()


def in_worker_thread(task: Callable[[], None]) -> None:
    failed: list[BaseException] = []

    def run() -> None:
        try:
            task()
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if failed:
        raise failed[0]


@pytest.mark.parametrize("run", [in_main_thread, in_worker_thread])
def test_every_verdict_in_any_thread_R02(run: Callable[[Callable[[], None]], None]) -> None:
    wrong, slow = [], []

    def score_all() -> None:
        for case in CASES:
            start = time.thread_time()
            reward = score(response_of(case), case["gold"])
            if time.thread_time() - start > SECONDS:
                slow.append(case["id"])
            if reward != float(case["verdict"]) and not case.get("debatable"):
                wrong.append((case["id"], case["gold"], case["why"]))

    run(score_all)
    assert not wrong and not slow


def test_the_truth_set_is_whole() -> None:
    assert len(CASES) == 342 and sum(len(response_of(case)) for case in CASES) > 1_000_000
    assert {bool(case["verdict"]) for case in CASES} == {True, False}


def test_model_text_never_runs_R07() -> None:
    guards = {Path(case["must_not_create"]) for case in CASES if case.get("must_not_create")}
    for guard in guards:
        guard.unlink(missing_ok=True)
    for case in CASES:
        if case["kind"] == "adv_exec":
            score(response_of(case), case["gold"])
    assert guards and not any(guard.exists() for guard in guards)
