"""The result of a check, and the parts of a run that checks look at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ada.report.record import Row, RunRecord

Level = Literal["bad", "warn", "good"]


@dataclass(frozen=True)
class Finding:
    title: str
    level: Level
    found: str
    healthy: str  # the threshold, as text
    advice: str  # what to do where it is passed
    metric: str | None = None


def level(value: float, warn: float, bad: float) -> Level:
    """The larger, the worse."""
    return "bad" if value > bad else "warn" if value > warn else "good"


def last_tenth(run: RunRecord) -> Sequence[Row]:
    """Of the steps, and at least five of them: a single step is noise."""
    return run.trained[-tenth(run) :]


def first_tenth(run: RunRecord) -> Sequence[Row]:
    return run.trained[: tenth(run)]


def tenth(run: RunRecord) -> int:
    return max(5, len(run.trained) // 10)


def long_enough(run: RunRecord) -> bool:
    """The first tenth and the last do not overlap."""
    return len(run.trained) >= 2 * tenth(run)
