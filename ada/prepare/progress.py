"""How far a preparation is: a bar on a terminal, a line now and then anywhere else."""

from __future__ import annotations

import sys
import time
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

SECONDS_BETWEEN_LINES = 10.0


class Bar:
    """One stage. `done` may start above 0: what an earlier call of the command did."""

    def __init__(self, stage: str, total: int, done: int, quiet: bool):
        self.stage, self.total, self.done, self.quiet = stage, total, done, quiet
        self._began, self._first, self._told = time.monotonic(), done, 0.0
        console = Console(file=sys.stdout)
        self._live: Progress | None = None
        if console.is_terminal and not quiet:
            texts = (TextColumn("{task.description}"), TextColumn("{task.fields[said]}"))
            self._live = Progress(texts[0], BarColumn(), MofNCompleteColumn(), texts[1], TimeRemainingColumn(), console=console)

    def __enter__(self) -> Bar:
        if self._live:
            self._live.start()
            self._task = self._live.add_task(self.stage, total=self.total, completed=self.done, said="")
        return self

    def advance(self, done: int, said: str) -> None:
        self.done += done
        if self._live:
            self._live.update(self._task, completed=self.done, said=said)
        elif not self.quiet and (self.done == self.total or time.monotonic() - self._told > SECONDS_BETWEEN_LINES):
            self._told = time.monotonic()
            left = (self._told - self._began) / (self.done - self._first) * (self.total - self.done)
            print(f"{self.stage} {self.done} of {self.total}   {said}   {left:.0f} s left", flush=True)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._live:
            self._live.stop()
