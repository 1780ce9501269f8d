"""The first problems of a recipe's data where they can be read here, and made-up ones to go on with."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice

from ada.data.sources import MissingData, Row, Source


@dataclass(frozen=True, slots=True)
class FirstRows:
    rows: list[Row]
    not_read: str | None  # why there are none


def first_rows(source: Source, count: int) -> FirstRows:
    """The first `count` rows. Data that is missing on this machine is no mistake; a row that cannot be used is: raises DataError."""
    try:
        return FirstRows(list(islice(source.rows(), count)), None)
    except (MissingData, OSError, ImportError) as error:
        return FirstRows([], str(error).splitlines()[0] if str(error) else type(error).__name__)


def sums(count: int) -> list[Row]:
    """Additions, no two alike."""
    return [Row(f"sum-{i}", f"What is {i + 2} + {3 * i + 5}?", str(4 * i + 7)) for i in range(count)]
