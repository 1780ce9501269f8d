"""Where problems come from. A source is a method: its fields are its recipe keys, `rows` yields its problems in a fixed order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from ada.types import PassRate


@dataclass(frozen=True, slots=True)
class Row:
    id: str  # unique within the source, stable across runs
    problem: str
    answer: str
    prior: PassRate | None = None  # how often a model was right on it, where the source says so


class Source(Protocol):
    """A source of records with columns derives from `ada.data.columns.Columns`; another one may yield its rows itself."""

    @property
    def name(self) -> str: ...

    def rows(self) -> Iterator[Row]:
        """Raises DataError, naming file, line and column, at the first row that is not usable."""


class DataError(ValueError):
    """A file or row that cannot be used; the message names where, what was found and what would do."""


class MissingData(DataError):
    """A file or data set that is not on this machine; `ada check` goes on without it."""
