"""One value of a record, as text or as a number; whatever cannot be one is refused with its place."""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from ada.data.sources import DataError

LONGEST = 1_000_000  # characters of a text: beyond any model's context, so a file that was read wrongly, or the wrong column
_ABSENT = object()


def found(record: Mapping[str, Any], column: str) -> bool:
    return _at(record, column) is not _ABSENT


def text(record: Mapping[str, Any], column: str, where: str) -> str:
    """The column's text; of a number, its shortest decimal form (5.0 is "5"). Raises DataError for anything else, or nothing."""
    value, place = _at(record, column), f"{where}, column {column!r}"
    if isinstance(value, bytes):
        try:
            value = value.decode("utf-8")
        except UnicodeDecodeError as error:
            raise DataError(f"{place}: byte {error.start} is not UTF-8. Convert the column to text.") from None
    if isinstance(value, bool) or not isinstance(value, str | int | float | Decimal) or _not_finite(value):
        hint = f" An entry of it is named `{column}.0` or `{column}.<key>`." if isinstance(value, list | dict) and value else ""
        raise DataError(f"{place}: found {_shown(value)}; allowed is text or a number.{hint}")
    written = str(int(value)) if isinstance(value, float | Decimal) and value == int(value) else str(value)
    if not written.strip():
        raise DataError(f"{place}: the value is empty. Drop the row or fill it in.")
    if written.strip() in ("nan", "NaN"):
        raise DataError(f"{place}: found the text {written!r}, which is how a missing value looks once written as text. Drop the row.")
    if len(written) > LONGEST:
        raise DataError(f"{place}: the value has {len(written):,} characters; allowed are {LONGEST:,}. Is this the right column?")
    surrogate = next((i for i, character in enumerate(written) if "\ud800" <= character <= "\udfff"), None)
    if surrogate is not None:
        raise DataError(f"{place}: character {surrogate + 1} is half of a surrogate pair, which is no text. Write the file anew in UTF-8.")
    return written


def probability(record: Mapping[str, Any], column: str, where: str) -> float:
    value = _at(record, column)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise DataError(f"{where}, column {column!r}: found {_shown(value)}; a pass rate is a number from 0 to 1.")
    return float(value)


def _at(record: Mapping[str, Any], column: str) -> Any:
    """`answer`, or, inside nested values, `reward_model.ground_truth` and `messages.0.content`."""
    if column in record:
        return record[column]
    value: Any = record
    for part in column.split("."):
        if isinstance(value, Mapping) and part in value:
            value = value[part]
        elif isinstance(value, list) and part.isdecimal() and int(part) < len(value):
            value = value[int(part)]
        else:
            return _ABSENT
    return value


def _not_finite(value: str | int | float | Decimal) -> bool:
    return isinstance(value, float | Decimal) and not math.isfinite(value)


def _shown(value: Any) -> str:
    written = repr(value)
    return written if len(written) <= 80 else written[:77] + "..."
