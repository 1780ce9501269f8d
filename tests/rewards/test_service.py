"""The reward service against every way a reward function can go wrong."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import pytest
import torch

from ada.rewards import functions
from ada.rewards.config import Reward
from ada.rewards.service import RewardService

HERE = Path(__file__).parent


def started(function="command", **keys):
    log_path = keys.pop("log_path", None)
    return RewardService(Reward(function=f"scorers_of_a_user:{function}", **keys), import_from=[HERE], log_path=log_path)


def collect(service, limit_seconds=30.0):
    verdicts, deadline = {}, time.monotonic() + limit_seconds
    while service.pending:
        assert time.monotonic() < deadline, f"{service.pending} responses still pending"
        for key, verdict in service.poll(1.0):
            assert key not in verdicts
            verdicts[key] = verdict
    return verdicts


@pytest.fixture(scope="module")
def shared():
    service = started(workers=2, time_limit_seconds=5.0, memory_limit_gib=2.0)
    yield service
    service.close()


def verdict_of(service, response, answer=""):
    service.submit(response, response, answer)
    return collect(service)[response]


@pytest.mark.parametrize(
    "response, reward, right", [("zero", 0.0, False), ("false", 0.0, False), ("true", 1.0, True), ("half", 0.5, False)]
)
def test_zero_and_false_are_values_R01(shared, response, reward, right):
    verdict = verdict_of(shared, response)
    assert (verdict.reward, verdict.right, verdict.failure) == (reward, right, None)


@pytest.mark.parametrize(
    "response, failure",
    [
        ("none", "bad_value"),
        ("nan", "bad_value"),
        ("inf", "bad_value"),
        ("yes", "bad_value"),
        ("list", "bad_value"),
        ("parts without reward", "bad_value"),
        ("part nan", "bad_value"),
        ("key error", "KeyError"),
        ("base exception", "TimeoutException"),
        ("sys.exit", "SystemExit"),
        ("memory", "MemoryError"),
        ("os._exit", "crash"),
        ("segfault", "crash"),
        ("killed", "crash"),
    ],
)
def test_every_failure_is_named_and_counted_R04(shared, response, failure):
    before = shared.failures[failure]
    verdict = verdict_of(shared, response)
    assert (verdict.reward, verdict.right, verdict.failure) == (0.0, False, failure)
    assert shared.failures[failure] == before + 1
    assert verdict_of(shared, "right").right  # and the service goes on


def test_named_parts_are_kept_beside_the_reward(shared):
    verdict = verdict_of(shared, "parts")
    assert verdict.reward == 1.0 and verdict.right and dict(verdict.parts) == {"format": 0.25}


@pytest.mark.parametrize("value", [np.float32(0.25), np.float64(0.25), torch.tensor(0.25), np.array(0.25)])
def test_scalars_of_numpy_and_torch_are_numbers(value):
    assert functions.read(value) == {"reward": 0.25}


@pytest.mark.parametrize("value", [np.bool_(True), True, np.int64(1), 1])
def test_integers_and_truth_values_are_numbers(value):
    assert functions.read(value) == {"reward": 1.0}


def test_an_interrupt_is_not_the_workers_business(shared):
    assert verdict_of(shared, "interrupt").right


def test_an_alarm_left_by_a_scorer_ends_nobody_R02():
    service = started(workers=1)
    service.submit("a", "alarm", "")
    service.submit("b", "nap", "0.3")
    assert [v.failure for v in collect(service).values()] == [None, None]
    service.close()


@pytest.mark.parametrize("response", ["sleep", "hang in c", pytest.param("ignore termination", marks=pytest.mark.slow)])
def test_a_hanging_scorer_is_killed_and_the_next_task_goes_on(response):
    service = started(workers=1, time_limit_seconds=0.5)
    service.submit("hangs", response, "")
    service.submit("next", "right", "")
    begun = time.monotonic()
    verdicts = collect(service)
    service.close()
    assert verdicts["hangs"].failure == "timeout" and verdicts["next"].right
    assert service.failures == {"timeout": 1}
    assert time.monotonic() - begun < 20.0  # not 600


@pytest.mark.slow
def test_time_spent_waiting_for_a_worker_does_not_count():
    service = started(workers=1, time_limit_seconds=1.0)
    for key in range(4):
        service.submit(key, "nap", "0.5")  # the last begins after 1.5 s
    assert {v.failure for v in collect(service).values()} == {None}
    service.close()


def test_deaths_lose_no_other_task_R05(shared):
    expected = {}
    for index in range(200):
        response = "killed" if index % 40 == 7 else "zero" if index % 3 == 0 else "right"
        expected[("prompt", index)] = {"killed": (0.0, "crash"), "zero": (0.0, None), "right": (1.0, None)}[response]
        shared.submit(("prompt", index), response, "")
    assert {key: (v.reward, v.failure) for key, v in collect(shared).items()} == expected


@pytest.mark.parametrize("workers", [1, 3])
def test_verdicts_pair_by_key_not_by_arrival_R05(workers):
    service = started(workers=workers)
    for key, seconds in enumerate(["0.4", "0.2", "0.0"]):
        service.submit(key, "nap", seconds)
        service.submit(("length", key), "zero", "")
    verdicts = collect(service)
    service.close()
    assert {key: v.reward for key, v in verdicts.items()} == {0: 1.0, 1: 1.0, 2: 1.0, **{("length", k): 0.0 for k in range(3)}}


def test_an_idle_worker_may_die():
    service = started(workers=1)
    for round in range(2):
        pid = int(verdict_of(service, "pid").reward)
        os.kill(pid, signal.SIGKILL)
        time.sleep(0.5)
        assert verdict_of(service, "right").right, round
    service.close()


def test_the_threshold_is_exclusive():
    service = started("by_length", threshold=3.0, workers=1)
    for text in ("abc", "abcd"):
        service.submit(text, text, "")
    assert {key: v.right for key, v in collect(service).items()} == {"abc": False, "abcd": True}
    service.close()


def test_poll_waits_only_while_something_is_pending(shared):
    begun = time.monotonic()
    assert shared.poll(5.0) == []
    shared.submit("slow", "nap", "1.5")
    assert shared.poll() == []
    assert time.monotonic() - begun < 1.2
    assert [key for key, _ in shared.poll(5.0)] == ["slow"]


def test_a_key_in_use_is_refused(shared):
    shared.submit("twice", "nap", "0.2")
    with pytest.raises(ValueError, match="twice"):
        shared.submit("twice", "right", "")
    assert len(collect(shared)) == 1


@pytest.mark.slow
def test_closing_with_stuck_workers_is_bounded_and_safe_twice_S02():
    service = started(workers=2, time_limit_seconds=600.0)
    for key, response in enumerate(["ignore termination", "sleep", *["right"] * 3000]):
        service.submit(key, response, "x" * 2000)
    service.poll(0.5)
    begun = time.monotonic()
    service.close()
    service.close()
    assert time.monotonic() - begun < 12.0 and service.pending == 0 and service.poll(1.0) == []
    with pytest.raises(RuntimeError, match="closed"):
        service.submit("late", "right", "")


def in_its_own_process(body):
    head = f"""
        import os, time
        from ada.rewards.config import Reward
        from ada.rewards.service import RewardService
        if __name__ == "__main__":
            config = Reward(function="scorers_of_a_user:command", workers=2, time_limit_seconds=600.0)
            service = RewardService(config, import_from=[{str(HERE)!r}])
            service.submit("pid", "pid", "")
            pid = int(service.poll(20.0)[0][1].reward)
            print(pid, flush=True)
            for key in range(2):
                service.submit(key, "sleep", "")
            time.sleep(0.5)
    """
    source = textwrap.dedent(head) + textwrap.indent(textwrap.dedent(body), "    ")
    process = subprocess.Popen(
        [sys.executable, "-c", source],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=HERE.parents[1],
        start_new_session=True,
    )
    assert process.stdout is not None
    return process, int(process.stdout.readline())


def gone(pid, limit_seconds=10.0):
    deadline = time.monotonic() + limit_seconds
    while time.monotonic() < deadline:
        try:
            if Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z":
                return True
        except FileNotFoundError:
            return True
        time.sleep(0.1)
    return False


@pytest.mark.parametrize("body, code", [("pass", 0), ("service.close()", 0), ("raise SystemExit(4)", 4)])
def test_the_process_ends_though_workers_are_stuck_S02(body, code):
    process, worker_pid = in_its_own_process(body)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == code and "Traceback" not in errors
    assert gone(worker_pid)


def test_workers_end_when_the_trainer_is_killed():
    process, worker_pid = in_its_own_process("time.sleep(600)")
    assert Path(f"/proc/{worker_pid}").exists()
    process.kill()
    process.communicate(timeout=10)
    assert gone(worker_pid)


@pytest.mark.slow
def test_workers_load_no_torch_and_see_no_secrets_R07():
    source = f"""
import os, torch
os.environ.update(MY_API_KEY="1", OTHER_TOKEN="2", PLAIN="3")
from ada.rewards.config import Reward
from ada.rewards.service import RewardService
if __name__ == "__main__":
    config = Reward(function="scorers_of_a_user:command", secrets=["MY_API_KEY"])
    service = RewardService(config, import_from=[{str(HERE)!r}])
    for key, (response, answer) in enumerate([("heavy", ""), ("secret", "MY_API_KEY"), ("secret", "OTHER_TOKEN"), ("secret", "PLAIN")]):
        service.submit(key, response, answer)
    found = {{}}
    while service.pending:
        found.update(service.poll(5.0))
    print([found[key].reward for key in range(4)])
    service.close()
"""
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, cwd=HERE.parents[1], timeout=60)
    assert done.stdout.strip() == "[0.0, 1.0, 0.0, 1.0]", done.stderr


@pytest.mark.parametrize(
    "function, message",
    [
        ("no_such_module_anywhere:score", "no_such_module_anywhere"),
        ("scorers_of_a_user:missing", "no function 'missing'"),
        ("scorers_of_a_user:not_a_function", "no function 'not_a_function'"),
        ("scorers_of_a_user:takes_one", "too many positional arguments"),
    ],
)
def test_a_missing_function_is_refused_at_the_start(function, message):
    with pytest.raises(ValueError, match=message) as caught:
        RewardService(Reward(function=function), import_from=[HERE])
    assert function in str(caught.value) and "module:function" in str(caught.value)


def test_a_function_in_the_current_folder_is_found(tmp_path):
    (tmp_path / "my_reward.py").write_text("def score(response, answer):\n    return float(response == answer)\n")
    source = """
from ada.rewards.config import Reward
from ada.rewards.service import RewardService
if __name__ == "__main__":
    service = RewardService(Reward(function="my_reward:score"))
    service.submit("k", "7", "7")
    print(service.poll(20.0)[0][1].reward)
    service.close()
"""
    (tmp_path / "elsewhere").mkdir()
    script = tmp_path / "elsewhere" / "script.py"  # so that the current folder is not on sys.path by itself
    script.write_text(source)
    environment = {**os.environ, "PYTHONPATH": str(HERE.parents[1])}
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, cwd=tmp_path, timeout=60, env=environment)
    assert done.stdout.strip() == "1.0", done.stderr


def test_what_a_scorer_prints_goes_to_the_log(tmp_path):
    service = started(workers=1, log_path=tmp_path / "rewards.log")
    assert verdict_of(service, "speak").right
    service.close()
    assert "a word from the scorer" in (tmp_path / "rewards.log").read_text()
