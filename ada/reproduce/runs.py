"""Runs an experiment: each run a process of its own with one thread, as many at once as there are cores, seed after seed."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path

from ada.reproduce.experiment import Experiment, Method

SHARED = ("engine=transformers", "tracking.wandb=off", "evaluation.every=25", "evaluation.samples=8")


class RunFailed(Exception):
    """A run of the experiment did not come to its end; says which, and where its log lies."""


@dataclass
class Runs:
    """Runs of `experiment` under `folder`, one folder each. What is finished there, for another experiment too, is not run again."""

    experiment: Experiment
    folder: Path
    jobs: int
    report: Callable[[str], None] = print
    _began: float = field(default_factory=time.monotonic)
    _seconds: dict[str, list[float]] = field(default_factory=dict)  # that runs of a method took
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _done: int = 0

    def run(self) -> None:
        """Seed after seed, so that all methods have equally many when the time is up. Raises RunFailed."""
        self.folder.mkdir(parents=True, exist_ok=True)
        order = [(method, seed) for seed in self.experiment.seeds for method in self.experiment.methods]
        missing = [(method, seed) for method, seed in order if not finished(self.path(method, seed), method)]
        self.report(f"{len(order)} runs, {len(order) - len(missing)} of them finished before; {self.jobs} at once")
        with ThreadPoolExecutor(self.jobs) as pool:
            try:
                for done in as_completed([pool.submit(self._one, method, seed, len(missing)) for method, seed in missing]):
                    done.result()
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)  # what runs comes to its end, nothing else begins
                raise

    def path(self, method: Method, seed: int) -> Path:
        return self.folder / f"{method.folder}-seed{seed}"

    def _one(self, method: Method, seed: int, total: int) -> None:
        if self._spent + self._expected(method) > self.experiment.budget:
            self.report(f"{method.name}, seed {seed}: left out, the {self.experiment.budget / 60:.0f} minutes would not be enough")
            return
        started = time.monotonic()
        path = self.path(method, seed)
        command = [sys.executable, "-m", "ada", "train", method.recipe, *SHARED, *self.experiment.overrides, *method.overrides]
        command += [f"steps={method.steps}", f"seed={seed}", f"output={self.folder}", f"run_name={path.name}"]
        log = path.with_suffix(".txt")
        with log.open("w") as file:
            code = subprocess.run(command, stdout=file, stderr=subprocess.STDOUT, env=os.environ | {"OMP_NUM_THREADS": "1"}).returncode
        if code:
            raise RunFailed(f"{' '.join(command)}: exit code {code}; its last words are in {log}")
        with self._lock:
            self._seconds.setdefault(method.name, []).append(time.monotonic() - started)
            self._done += 1
            left = self._spent / self._done * (total - self._done)
        self.report(
            f"[{self._done}/{total}] {method.name}, seed {seed}: {time.monotonic() - started:.0f} s; "
            f"about {min(left, self.experiment.budget - self._spent) / 60:.0f} min left"
        )

    @property
    def _spent(self) -> float:
        return time.monotonic() - self._began

    def _expected(self, method: Method) -> float:
        """Seconds of a run: as its method's earlier ones, else as any; 0 before the first."""
        known = self._seconds.get(method.name) or [seconds for one in self._seconds.values() for seconds in one]
        return statistics.median(known) if known else 0.0


def finished(path: Path, method: Method) -> bool:
    try:
        summary = json.loads((path / "summary.json").read_text())
    except (OSError, ValueError):
        return False
    return summary["steps"] >= method.steps and summary["stopped_by"] is None
