"""The last lines of a run: what was gained, at which cost, and where it lies."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TypedDict

from ada.observability.numbers import clock, compact, fixed


class Summary(TypedDict):
    """The content of summary.json."""

    run: str  # the run's folder
    steps: int
    seconds: float
    responses: int
    generated_tokens: int
    memory_retries: int  # times that memory ran out, and an update or a pass was repeated in smaller pieces
    before: Mapping[str, float | None]  # metrics `eval/<set>/avg@<k>` and `eval/<set>/pass@<k>` before the first step
    after: Mapping[str, float | None]  # the same after the last
    stopped_by: str | None  # None where the run came to its end, else why not


def closing_lines(summary: Summary) -> list[str]:
    lines = []
    if summary["stopped_by"]:
        lines += [f"Stopped after {summary['steps']} steps: {summary['stopped_by']}", ""]
    held_out = [name for name in summary["after"] if name.startswith("eval/")]
    if held_out:
        title = "Held-out accuracy"
        rows = [(f"  {name.removeprefix('eval/')}", summary["before"].get(name), summary["after"][name]) for name in held_out]
        width = max(len(title), *(len(label) for label, _, _ in rows))
        lines.append(f"{title:<{width}}{'before':>9}{'after':>9}{'gain':>9}")
        lines += [f"{label:<{width}}{fixed(before, 3):>9}{fixed(after, 3):>9}{_gain(before, after):>9}" for label, before, after in rows]
        lines.append("")
    if retries := summary["memory_retries"]:
        lines += [f"Memory ran out {retries} time(s), and work was repeated in smaller pieces: lower trainer.micro_batch_tokens", ""]
    cost = f"{compact(summary['responses'])} responses and {compact(summary['generated_tokens'])} tokens"
    lines += [f"{summary['steps']} steps in {clock(summary['seconds'])}, {cost}", relative(summary["run"])]
    return lines


def _gain(before: float | None, after: float | None) -> str:
    return "–" if before is None or after is None else f"{after - before:+.3f}"


def relative(path: str | Path) -> str:
    """As short as it can be typed from here."""
    short = os.path.relpath(path)
    return str(path) if short.startswith("..") else short
