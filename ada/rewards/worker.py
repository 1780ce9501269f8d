"""What runs inside a scoring process. Standard library only: a worker starts in milliseconds and never loads torch."""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import inspect
import math
import numbers
import os
import re
import resource
import signal
import sys
import traceback
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

_LOOKS_SECRET = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL", re.IGNORECASE)
_PR_SET_PDEATHSIG = 1  # linux/prctl.h

_scorer: Callable[[str, str], Any] | None = None
_problem: str | None = "the worker was not prepared"


class Score(NamedTuple):
    """What a worker sends back. `failure` names what went wrong, `detail` explains it to people."""

    reward: float = 0.0
    parts: dict[str, float] = {}
    failure: str | None = None
    detail: str = ""


def prepare(
    function: str, import_from: Sequence[str], secrets: Sequence[str], memory_limit_bytes: int | None, log_path: str | None
) -> None:
    """Runs once in each new worker, before its first task. Never raises: `check` tells what went wrong."""
    global _scorer, _problem
    _end_with_the_trainer()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the trainer's to handle
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # a handler in Python would wait for a scorer that is stuck in C
    _hide_secrets(secrets)
    _limit(memory_limit_bytes)
    if log_path is not None:
        _send_output_to(log_path)
    sys.path.extend(folder for folder in import_from if folder not in sys.path)
    _scorer, _problem = _resolve(function)


def check() -> str | None:
    """None where the reward function was found and takes (response, answer), else what is wrong with it."""
    return _problem


def score(response: str, answer: str) -> Score:
    """Whatever the reward function does, short of ending the process, becomes a Score."""
    try:
        assert _scorer is not None, _problem
        return read(_scorer(response, answer))
    except BaseException as error:  # some scorers' own time-outs are no Exception; none may end the worker
        return Score(failure=type(error).__name__, detail=traceback.format_exc(limit=-5))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)  # an alarm the scorer left behind must not go off in the next task


def score_all(tasks: Sequence[tuple[str, str]]) -> list[Score]:
    """`score` of each (response, answer), in order."""
    return [score(response, answer) for response, answer in tasks]


def read(value: Any) -> Score:
    """A finite number, or a dict of them with the key `reward`: what is trained on, beside others to log. False is 0, None no value."""
    if not isinstance(value, dict):
        value = {"reward": value}
    numbers_by_name = {name: _finite(part) for name, part in value.items()}
    unread = [name for name, number in numbers_by_name.items() if number is None or not isinstance(name, str)]
    if "reward" not in value or unread:
        return Score(
            failure="bad_value", detail=f"returned {value!r:.200}; allowed: a finite number, or a dict of them with the key 'reward'"
        )
    reward = numbers_by_name.pop("reward")
    return Score(reward, numbers_by_name)  # type: ignore[arg-type]


def _finite(value: Any) -> float | None:
    if getattr(value, "ndim", None) == 0:  # a numpy or torch scalar
        value = value.item()
    if not isinstance(value, numbers.Real) or not math.isfinite(value):
        return None
    return float(value)


def _resolve(function: str) -> tuple[Callable[[str, str], Any] | None, str | None]:
    module_name, _, name = function.partition(":")
    try:
        scorer = getattr(importlib.import_module(module_name), name, None)
    except BaseException:
        return None, f"importing module {module_name!r} failed:\n{traceback.format_exc(limit=-5)}"
    if not callable(scorer):
        return None, f"module {module_name!r} has no function {name!r}"
    with contextlib.suppress(ValueError):  # a builtin may tell nothing about its parameters
        try:
            inspect.signature(scorer).bind("response", "answer")
        except TypeError as error:
            return None, f"it cannot be called as {name}(response, answer): {error}"
    return scorer, None


def _end_with_the_trainer() -> None:
    """Asks Linux to kill this process when the fork server dies, which dies when the trainer does."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _hide_secrets(allowed: Sequence[str]) -> None:
    """Model output is read by parsers here; nothing worth stealing should lie within their reach."""
    for name in list(os.environ):
        if _LOOKS_SECRET.search(name) and name not in allowed:
            del os.environ[name]


def _limit(memory_bytes: int | None) -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    if memory_bytes is not None:
        hard = resource.getrlimit(resource.RLIMIT_AS)[1]
        soft = memory_bytes if hard == resource.RLIM_INFINITY else min(memory_bytes, hard)
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def _send_output_to(path: str) -> None:
    """What a reward function prints goes to a file, not across the live display."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    os.close(descriptor)
