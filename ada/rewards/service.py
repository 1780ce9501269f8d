"""Scores responses in worker processes while the engine goes on generating.

A worker that exceeds its time limit is killed, whatever it is stuck in, and the next task goes to a fresh one. Every response
submitted comes back exactly once, under its key, with a number or the name of what went wrong.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import queue
import threading
import time
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from concurrent.futures import CancelledError, Future
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from pathlib import Path

from pebble import ProcessExpired, ProcessPool

from ada.rewards import worker
from ada.rewards.config import Reward
from ada.rewards.functions import Facts, Score, Task
from ada.scratch import Scratch

logger = logging.getLogger(__name__)

_START_LIMIT_SECONDS = 120.0  # to import the reward function's module
_CLOSE_LIMIT_SECONDS = 10.0
_LONGEST_WAIT_SECONDS = 0.5  # between two looks at the pool's health
_REBUILDS_WITHOUT_A_VERDICT = 5
NO_FACTS = Facts()
_LARGEST_PIECE = 16  # responses that go to a worker at once; each piece costs the trainer some 0.1 ms


@dataclass(frozen=True, slots=True)
class Verdict:
    """`failure`: None, or `timeout`, `crash` (the worker died), `bad_value`, or the type of the exception that was raised."""

    reward: float  # 0.0 where failure is set
    right: bool
    failure: str | None = None
    parts: Mapping[str, float] = field(default_factory=dict)
    counts_wrong: bool = False  # a failure that the recipe counts as a wrong answer


@dataclass(frozen=True, slots=True, eq=False)
class _Pending:
    key: Hashable
    task: Task


class RewardService:
    """Raises ValueError at once if a function is missing or takes other arguments; a worker looks it up, never the trainer."""

    def __init__(self, config: Reward, *, import_from: Sequence[str | Path] = (), log_path: str | Path | None = None):
        """`import_from`: more folders to find the function's module in, beside the current. `log_path`: for what workers print."""
        self.failures: Counter[str] = Counter()  # by kind, since the start
        self._config = config
        self._scratch = Scratch("rewards")
        self._preparation = worker.Preparation(
            parts=tuple((name, part.function, part.weight, part.arguments) for name, part in config.named.items()),
            import_from=tuple(str(Path(folder).absolute()) for folder in (".", *import_from)),
            secrets={name: os.environ[name] for name in config.secrets if name in os.environ},
            memory_limit_bytes=None if config.memory_limit_gib is None else int(config.memory_limit_gib * 2**30),
            time_limit_seconds=config.time_limit_seconds,
            scratch=self._scratch.name,
            log_path=None if log_path is None else str(Path(log_path).absolute()),
        )
        self._pending: dict[Hashable, _Pending] = {}
        self._fresh: list[_Pending] = []  # submitted since the last poll
        self._ready: list[tuple[Hashable, Verdict]] = []  # for the next poll
        self._finished: queue.SimpleQueue[tuple[list[_Pending], Future[list[Score]]]] = queue.SimpleQueue()
        self._rebuilds = 0
        self._closed = False
        self._pool = self._new_pool()
        self._check_functions()
        self.asks_about_cut_off: bool = self._pool.schedule(worker.asks_about_cut_off).result()

    @property
    def pending(self) -> int:
        """Responses submitted whose verdict no poll has given yet."""
        return len(self._pending) + len(self._ready)

    def submit(self, key: Hashable, response_text: str, answer: str, facts: Facts = NO_FACTS) -> None:
        """Waits while `reward.queue` responses have no verdict yet."""
        if self._closed:
            raise RuntimeError("the reward service is closed")
        if key in self._pending:
            raise ValueError(f"a response with key {key!r} is already being scored; keys must be unique while pending")
        while len(self._pending) >= self._config.queue:
            self._ready += self._collect(_LONGEST_WAIT_SECONDS)
        self._pending[key] = _Pending(key, Task(response_text, answer, facts))
        self._fresh.append(self._pending[key])

    def poll(self, wait_seconds: float = 0.0) -> list[tuple[Hashable, Verdict]]:
        """All verdicts that are ready; with wait_seconds > 0, waits up to that long for the first, unless nothing is pending.

        What was submitted since the last poll goes to the workers now, in as few pieces as keep all of them busy.
        """
        ready, self._ready = self._ready, []
        return ready + self._collect(0.0 if ready else wait_seconds)

    def gold_responses(self, answers: Sequence[str]) -> list[str | None]:
        """For each gold answer a response that must be right; None where the reward function cannot be given one."""
        writing = [self._pool.schedule(worker.gold_response, args=(answer, self._config.right)) for answer in answers]
        return [future.result() for future in writing]

    def _collect(self, wait_seconds: float) -> list[tuple[Hashable, Verdict]]:
        self._send()
        deadline = time.monotonic() + wait_seconds
        verdicts: list[tuple[Hashable, Verdict]] = []
        while self._pending:
            remaining = 0.0 if verdicts else max(0.0, min(deadline - time.monotonic(), _LONGEST_WAIT_SECONDS))
            try:
                tasks, future = self._finished.get(timeout=remaining) if remaining else self._finished.get_nowait()
            except queue.Empty:
                if not self._pool.active:
                    self._rebuild()
                if verdicts or time.monotonic() >= deadline:
                    break
                continue
            scores = _outcome(future, self._config.time_limit_seconds)
            if isinstance(scores, Score) and len(tasks) > 1:  # one of them did it: each again by itself, with the whole limit
                self._schedule_each(tasks)
                continue
            for pending, score in zip(tasks, [scores] if isinstance(scores, Score) else scores, strict=False):
                if self._pending.pop(pending.key, None) is not None:
                    verdicts.append((pending.key, self._verdict(score, pending.task.facts.cut_off)))
        return verdicts

    def close(self) -> None:
        """Kills the workers and forgets what is pending. Takes at most some 10 s; a second call does nothing."""
        if self._closed:
            return
        self._closed = True
        self._pending.clear()
        self._fresh.clear()
        self._ready.clear()
        stopping = _stop(self._pool)
        stopping.join(_CLOSE_LIMIT_SECONDS)
        if stopping.is_alive():
            logger.warning("reward workers did not end within %g s; they end with this process", _CLOSE_LIMIT_SECONDS)
        self._scratch.cleanup()

    def _new_pool(self) -> ProcessPool:
        context = multiprocessing.get_context("forkserver")  # a clean process to fork from: no CUDA, no threads, modules shared
        own = [name for part in self._config.named.values() if (name := part.function.partition(":")[0]).startswith("ada.")]
        context.set_forkserver_preload([worker.__name__, *own])
        return ProcessPool(self._config.workers, initializer=worker.prepare, initargs=(self._preparation,), context=context)

    def _check_functions(self) -> None:
        try:
            problem = self._pool.schedule(worker.check).result(timeout=_START_LIMIT_SECONDS)
        except TimeoutError:
            problem = f"importing it took longer than {_START_LIMIT_SECONDS:g} s"
        except (ProcessExpired, BrokenProcessPool) as error:
            problem = f"the process that imports it died: {error}"
        if problem is not None:
            self.close()
            names = ", ".join(part.function for part in self._config.named.values())
            raise ValueError(
                f"reward function {names}: {problem}\nIt is named as module:function, where module is importable or a file in "
                f"{' or '.join(self._preparation.import_from)}, and function takes (response, answer) and returns a number."
            )

    def _send(self) -> None:
        fresh, self._fresh = self._fresh, []
        size = min(_LARGEST_PIECE, -(-len(fresh) // self._config.workers))
        try:
            for start in range(0, len(fresh), max(size, 1)):
                self._schedule(fresh[start : start + size])
        except RuntimeError:  # pebble's word for a pool that broke
            self._rebuild()

    def _schedule_each(self, tasks: Iterable[_Pending]) -> None:
        try:
            for task in tasks:
                self._schedule([task])
        except RuntimeError:
            self._rebuild()

    def _schedule(self, tasks: list[_Pending]) -> None:
        """One piece of work for one worker. The limit is one response's, so that none can take longer."""
        work = [pending.task for pending in tasks]
        future = self._pool.schedule(worker.score_all, args=(work,), timeout=self._config.time_limit_seconds)
        future.add_done_callback(lambda done: self._finished.put((tasks, done)))

    def _rebuild(self) -> None:
        """A worker that dies between tasks (killed for memory, say) can break pebble's pool; all that is pending goes to a new one."""
        self._rebuilds += 1
        if self._rebuilds > _REBUILDS_WITHOUT_A_VERDICT:
            raise RuntimeError(
                f"reward workers died {self._rebuilds} times in a row without scoring anything. Is the machine out of memory? "
                "Lower reward.workers, or try the reward function by itself."
            )
        logger.warning("the pool of reward workers broke; starting a new one and scoring %d responses again", len(self._pending))
        _stop(self._pool)
        self._pool = self._new_pool()
        self._fresh.clear()
        for task in self._pending.values():
            self._schedule([task])

    def _verdict(self, score: Score, cut_off: bool) -> Verdict:
        self._rebuilds = 0
        if score.failure is None:
            deciding = score.reward if self._config.right is None else score.parts[self._config.right]
            return Verdict(score.reward, deciding > self._config.threshold and not cut_off, None, score.parts)
        if score.failure not in self.failures:
            logger.warning("a reward failed (%s); more of this kind are only counted. %s", score.failure, score.detail)
        self.failures[score.failure] += 1
        return Verdict(0.0, False, score.failure, counts_wrong=self._config.unknown == "wrong")


def _outcome(future: Future[list[Score]], time_limit_seconds: float) -> list[Score] | Score:
    """The scores; a single one with its failure where the worker was killed or died; none where the pool broke or was closed."""
    try:
        return future.result()
    except TimeoutError:
        return Score(failure="timeout", detail=f"It took longer than {time_limit_seconds:g} s and its worker was killed.")
    except ProcessExpired as error:
        return Score(failure="crash", detail=f"Its worker died with exit code {error.exitcode}.")
    except (BrokenProcessPool, CancelledError):
        return []


def _stop(pool: ProcessPool) -> threading.Thread:
    """Stops a pool in the background: joining it may wait for a worker that is slow to die."""

    def stop() -> None:
        pool.stop()
        pool.join()

    thread = threading.Thread(target=stop, name="stop-reward-workers", daemon=True)
    thread.start()
    return thread
