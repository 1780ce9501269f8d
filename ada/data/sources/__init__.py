"""Where problems come from. A source is a method: its fields are its recipe keys, `rows` yields its problems in a fixed order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Row:
    id: str  # unique within the source, stable across runs
    problem: str
    answer: str


class Source(Protocol):
    @property
    def name(self) -> str: ...

    def rows(self) -> Iterator[Row]:
        """Raises DataError, naming file, line and column, at the first row that is not usable."""


class DataError(ValueError):
    """A file or row that cannot be used; the message names where, what was found and what would do."""


class MissingData(DataError):
    """A file or data set that is not on this machine; `ada check` goes on without it."""
