"""How far an evaluation has come: a bar on a terminal, a line now and then elsewhere, nothing on ranks above 0."""

from __future__ import annotations

import sys
import time
from typing import TextIO

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from ada.evaluation.row import Row
from ada.ranks import Ranks

_EVERY_SECONDS = 30.0  # between two lines where there is no terminal


class EvaluationProgress:
    """`done` problems were finished before (an evaluation that goes on). Problems of all ranks are counted, answers of this rank's."""

    def __init__(self, total: int, done: int, samples: int, ranks: Ranks, stream: TextIO | None = None):
        self._ranks, self._samples, self._total, self._before = ranks, samples, total, done
        self._stream = stream or sys.stdout
        self._began = self._told = time.monotonic()
        self._right = self._own = 0
        console = Console(file=self._stream)
        self._bar: Progress | None = None
        if ranks.first and console.is_terminal:
            columns = (BarColumn(), TextColumn("{task.completed} of {task.total} problems"), TimeElapsedColumn(), TextColumn("left"))
            self._bar = Progress(*columns, TimeRemainingColumn(), TextColumn("avg {task.fields[avg]}"), console=console)
            self._task = self._bar.add_task("", total=total, completed=done, avg="–")
            self._bar.start()

    def row(self, row: Row) -> None:
        done = self._before + self._ranks.claim("evaluated") + 1
        self._right, self._own = self._right + row.right, self._own + 1
        if self._bar:
            self._bar.update(self._task, completed=done, avg=self._average)
        elif self._ranks.first and done < self._total and time.monotonic() - self._told > _EVERY_SECONDS:
            self._tell(done)

    def finish(self) -> None:
        """All problems are done, on all ranks: whichever rank did the last one, the first one says so."""
        if self._bar:
            self._bar.update(self._task, completed=self._total)
        elif self._ranks.first and self._total > self._before:
            self._tell(self._total)

    @property
    def _average(self) -> str:
        return f"{self._right / (self._own * self._samples):.3f}" if self._own else "–"

    def _tell(self, done: int) -> None:
        self._told = time.monotonic()
        left = (self._told - self._began) / (done - self._before) * (self._total - done)
        print(f"problems={done} total={self._total} avg={self._average} seconds_left={left:.0f}", file=self._stream, flush=True)

    def close(self) -> None:
        if self._bar:
            self._bar.stop()
