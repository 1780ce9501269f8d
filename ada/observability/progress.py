"""What a run shows while it goes: a small live display on a terminal, one plain line a step anywhere else."""

from __future__ import annotations

import contextlib
import math
import re
import sys
import time
from collections import deque
from typing import TYPE_CHECKING, Protocol, TextIO

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from ada.observability.numbers import clock, compact, fixed, percent, sparkline

if TYPE_CHECKING:
    from ada.types import StepRecord

_WIDEST = 100  # columns
_RECENT = 20  # steps whose mean time predicts the time left


class Progress(Protocol):
    def start(self, total: int, first: int = 0) -> None:
        """`total` steps in all, of which `first` were done before (a run that is continued)."""

    def step(self, record: StepRecord) -> None: ...
    def note(self, text: str) -> None:
        """One line that stays."""

    def close(self) -> None: ...


def open_progress(name: str, rank: int = 0, stream: TextIO | None = None) -> Progress:
    """For the run `name`: live where `stream` (default: standard output) is a terminal, plain elsewhere, nothing on ranks above 0."""
    if rank > 0:
        return Silent()
    console = Console(file=stream or sys.stdout)
    if console.is_terminal and not console.is_dumb_terminal:
        return LiveDisplay(name, console)
    return PlainLines(stream or sys.stdout)


class Silent:
    def start(self, total: int, first: int = 0) -> None: ...
    def step(self, record: StepRecord) -> None: ...
    def note(self, text: str) -> None: ...
    def close(self) -> None: ...


class PlainLines:
    """`step=3 total=200 reward=0.612 ...`: for logs and programs; a note is a line of its own, without control characters."""

    def __init__(self, stream: TextIO):
        self._stream = stream
        self._time = _TimeLeft()

    def start(self, total: int, first: int = 0) -> None:
        self._time.start(total, first)

    def step(self, record: StepRecord) -> None:
        self._time.step()
        fields = {"step": str(record.step), "total": str(self._time.total)}
        fields |= {name: _plain_number(record.metrics.get(metric)) for name, metric in _SHOWN.items()}
        fields["seconds_left"] = _plain_number(self._time.left)
        fields |= {name: _plain_number(value) for name, value in record.metrics.items() if "@" in name}
        self._print(" ".join(f"{name}={value}" for name, value in fields.items()))

    def note(self, text: str) -> None:
        self._print(re.sub(r"\x1b\[[0-9;?]*[ -/]*[@-~]|[\x00-\x08\x0b-\x1f\x7f]", "", text))

    def close(self) -> None: ...

    def _print(self, line: str) -> None:
        with contextlib.suppress(OSError):  # a closed pipe does not end a run
            print(line, file=self._stream, flush=True)


class LiveDisplay:
    def __init__(self, name: str, console: Console):
        self._name = name
        self._console = console
        self._time = _TimeLeft()
        self._rewards: list[float] = []
        self._record: StepRecord | None = None
        self._live: Live | None = None

    def start(self, total: int, first: int = 0) -> None:
        self._time.start(total, first)
        self._live = Live(get_renderable=self._render, console=self._console, refresh_per_second=2, transient=False)
        self._live.start()

    def step(self, record: StepRecord) -> None:
        self._time.step()
        self._record = record
        reward = record.metrics.get("reward/mean")
        if reward is not None:
            self._rewards.append(reward)
        held_out = [f"{name[5:]} {fixed(value, 3)}" for name, value in record.metrics.items() if "@" in name]
        if held_out:
            self.note(f"step {record.step}   held out   {'   '.join(held_out)}")

    def note(self, text: str) -> None:
        self._console.print(Text(text))

    def close(self) -> None:
        live, self._live = self._live, None
        if live is not None:
            live.stop()

    def _render(self) -> RenderableType:
        width = min(self._console.width, _WIDEST)
        done, total = self._time.done, self._time.total
        head = Table.grid(expand=True)
        head.add_column(overflow="ellipsis", no_wrap=True, ratio=1)
        head.add_column(justify="right", no_wrap=True)
        head.add_row(
            Text(self._name, style="bold"), Text.assemble(f"step {done} of {total}", (f"   {clock(self._time.elapsed)}", "bright_black"))
        )
        bar = ProgressBar(total=total, completed=done, width=width, complete_style="cyan", finished_style="cyan", style="bright_black")
        framed = Table.grid()
        framed.add_column(width=width)
        for row in (Text(""), head, bar, self._figures()):
            framed.add_row(row)
        return Group(framed)

    def _figures(self) -> RenderableType:
        metrics = self._record.metrics if self._record else {}
        figures = {name: metrics.get(metric) for name, metric in _SHOWN.items()}
        columns = [
            ("reward", fixed(figures["reward"], 3)),
            ("zero gradient", percent(figures["zero_gradient"])),
            ("per prompt", fixed(figures["responses_per_prompt"], 1)),
            ("tokens/s", compact(figures["tokens_per_second"])),
            ("left", clock(self._time.left)),
        ]
        wide = self._console.width >= 72
        grid = Table.grid(expand=True, padding=(0, 4 if wide else 2, 0, 0))
        for index in range(len(columns)):
            grid.add_column(no_wrap=True, ratio=1 if index == 0 else None, justify="right" if index == len(columns) - 1 else "left")
        grid.add_row(*(Text(label, style="bright_black") for label, _ in columns))
        first = Text.assemble((columns[0][1], "bold"), "  ", (sparkline(self._rewards, 12) if wide else "", "cyan"))
        grid.add_row(first, *(Text(value) for _, value in columns[1:]))
        return grid


_SHOWN = {
    "reward": "reward/mean",
    "zero_gradient": "signal/zero_gradient_fraction",
    "responses_per_prompt": "sampling/responses_per_prompt",
    "tokens_per_second": "throughput/rollout_tokens_per_second",
}


class _TimeLeft:
    """Seconds to the end, from the mean time of the last steps, evaluations between them included."""

    def __init__(self) -> None:
        self.total = self.done = 0
        self._begun = time.monotonic()
        self._ends: deque[float] = deque(maxlen=_RECENT + 1)

    def start(self, total: int, first: int) -> None:
        self.total, self.done = total, first
        self._begun = time.monotonic()
        self._ends.append(self._begun)

    def step(self) -> None:
        self.done += 1
        self._ends.append(time.monotonic())

    @property
    def elapsed(self) -> float:
        return time.monotonic() - self._begun

    @property
    def left(self) -> float | None:
        """None before the first step. Counts down within a step, at most by what a step takes."""
        steps = len(self._ends) - 1
        if steps < 1:
            return None
        each = (self._ends[-1] - self._ends[0]) / steps
        return max(0.0, each * (self.total - self.done) - min(each, time.monotonic() - self._ends[-1]))


def _plain_number(value: float | None) -> str:
    return "nan" if value is None or not math.isfinite(value) else f"{value:.6g}"
