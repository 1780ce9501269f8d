"""What runs inside a scoring process. Standard library only: a worker starts in milliseconds and never loads torch."""

from __future__ import annotations

import asyncio
import ctypes
import os
import re
import resource
import signal
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ada.rewards.answers.extraction import unboxed
from ada.rewards.functions import Score, Scorer, Task, Unusable, find, score

_LOOKS_SECRET = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL", re.IGNORECASE)
_PR_SET_PDEATHSIG = 1  # linux/prctl.h


@dataclass(frozen=True, slots=True)
class Preparation:
    parts: tuple[tuple[str, str, float, dict[str, Any]], ...]  # name, module:function, weight, arguments
    import_from: tuple[str, ...]
    secrets: Mapping[str, str] = field(repr=False)  # environment variables that the function may read, as the trainer has them
    memory_limit_bytes: int | None
    time_limit_seconds: float
    scratch: str  # folder for temporary files, which outlives the worker
    log_path: str | None


_scorers: list[Scorer] = []
_problem: str | None = "the worker was not prepared"
_limit_seconds = 0.0
_runner = asyncio.Runner()  # one loop for the worker's life, so that clients of async functions keep their connections


def prepare(preparation: Preparation) -> None:
    """Runs once in each new worker, before its first task. Never raises: `check` tells what went wrong."""
    global _scorers, _problem, _limit_seconds
    _end_with_the_trainer()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the trainer's to handle
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # a handler in Python would wait for a scorer that is stuck in C
    _hide_secrets(preparation.secrets)
    _limit(preparation.memory_limit_bytes)
    if preparation.log_path is not None:
        _send_output_to(preparation.log_path)
    tempfile.tempdir = preparation.scratch
    sys.path.extend(folder for folder in preparation.import_from if folder not in sys.path)
    _limit_seconds = preparation.time_limit_seconds
    try:
        _scorers = [find(function, name, weight, arguments) for name, function, weight, arguments in preparation.parts]
        _problem = None
        for scorer in _scorers:
            if (ready := getattr(sys.modules[scorer.module], "ready", None)) is not None:
                ready(**scorer.arguments)
    except Exception as error:
        _problem = str(error) if isinstance(error, Unusable) else f"{type(error).__name__}: {error}"


def check() -> str | None:
    """None where the reward functions were found and take (response, answer), else what is wrong with them."""
    return _problem


def asks_about_cut_off() -> bool:
    """Whether a function wants to see responses that the token budget cut off."""
    return any("cut_off" in scorer.asks for scorer in _scorers)


def gold_response(answer: str, part: str | None) -> str | None:
    """A response that `part` must call right. A module says how to write one, or that it cannot (None), in `gold_response(answer)`."""
    scorer = next(scorer for scorer in _scorers if part in (None, scorer.name))
    write = getattr(sys.modules[scorer.module], "gold_response", None)
    return f"The answer is \\boxed{{{unboxed(answer)}}}." if write is None else write(answer)


def score_all(tasks: Sequence[Task]) -> list[Score]:
    """The score of each task, in order. Async functions run together, each under the time limit; others one after the other."""
    assert _problem is None, _problem
    try:
        return _runner.run(_together(tasks)) if any(scorer.waits for scorer in _scorers) else [_at_once(task) for task in tasks]
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def _at_once(task: Task) -> Score:
    """Without an event loop, as no function waits."""
    try:
        score(task, _scorers).send(None)
    except StopIteration as done:
        return done.value  # type: ignore[no-any-return]
    except asyncio.CancelledError:
        return Score(failure="CancelledError")
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)  # an alarm a scorer left behind must not go off in the next task
    raise AssertionError("a function waited that is not async")


async def _together(tasks: Sequence[Task]) -> list[Score]:
    return list(await asyncio.gather(*(_within_limit(task) for task in tasks)))


async def _within_limit(task: Task) -> Score:
    """What waits is stopped here, so that it takes no other task with it; what computes is killed from outside."""
    try:
        async with asyncio.timeout(0.9 * _limit_seconds):
            return await score(task, _scorers)
    except TimeoutError:
        return Score(failure="timeout", detail=f"It waited longer than 0.9 times the limit of {_limit_seconds:g} s.")
    except asyncio.CancelledError:
        return Score(failure="CancelledError")


def _end_with_the_trainer() -> None:
    """Asks Linux to kill this process when the fork server dies, which dies when the trainer does."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _hide_secrets(allowed: Mapping[str, str]) -> None:
    """Model output is read by parsers here; nothing worth stealing should lie within their reach."""
    for name in list(os.environ):
        if _LOOKS_SECRET.search(name):
            del os.environ[name]
    os.environ.update(allowed)  # the fork server may be older than they are


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
