from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from ada.config import config
from ada.data.sources import DataError, MissingData, Row


@config
class Jsonl:
    """Problems from a file with one JSON object a line, UTF-8."""

    name: Literal["jsonl"] = "jsonl"
    path: Annotated[str, Field(description="the file; relative paths start at the working directory")]
    problem: Annotated[str, Field(description="column that holds the problem's text")] = "problem"
    answer: Annotated[str, Field(description="column that holds the gold answer")] = "answer"
    id: Annotated[str | None, Field(description="column that names the row; null: its line number")] = None
    limit: Annotated[int | None, Field(gt=0, description="rows to read from the start; null: all")] = None

    def rows(self) -> Iterator[Row]:
        path = Path(self.path)
        if not path.is_file():
            raise MissingData(f"{path}: no such file. Set data.train.path (or the evaluation set's path) to a .jsonl file.")
        seen: dict[str, int] = {}
        with path.open("rb") as lines:
            for number, line in enumerate(lines, start=1):
                if self.limit is not None and len(seen) == self.limit:
                    return
                if not line.strip():
                    continue
                row = self._row(line, number)
                if row.id in seen:
                    raise DataError(
                        f"{path}, line {number}: id {row.id!r} is already that of line {seen[row.id]}. "
                        "Ids must be unique; set `id: null` to use line numbers."
                    )
                seen[row.id] = number
                yield row
        if not seen:
            raise DataError(f"{path}: the file holds no rows.")

    def _row(self, line: bytes, number: int) -> Row:
        where = f"{self.path}, line {number}"
        try:
            values = json.loads(line.decode("utf-8"))
        except UnicodeDecodeError as error:
            raise DataError(f"{where}, byte {error.start}: not UTF-8. Convert the file to UTF-8.") from None
        except json.JSONDecodeError as error:
            raise DataError(f"{where}, column {error.colno}: not valid JSON ({error.msg}).") from None
        if not isinstance(values, dict):
            raise DataError(
                f"{where}: found a JSON {type(values).__name__}; each line must be an object "
                f"with the columns {self.problem!r} and {self.answer!r}."
            )
        identity = str(number) if self.id is None else self._text(values, self.id, where)
        return Row(identity, self._text(values, self.problem, where), self._text(values, self.answer, where))

    def _text(self, values: dict[str, Any], column: str, where: str) -> str:
        if column not in values:
            raise DataError(
                f"{where}: no column {column!r}; the row has {sorted(values)}. Map the columns with the keys `problem`, `answer` and `id`."
            )
        value = values[column]
        if isinstance(value, bool) or not isinstance(value, (str, int, float)) or (isinstance(value, float) and not math.isfinite(value)):
            raise DataError(f"{where}, column {column!r}: found {value!r}; allowed is text or a number.")
        text = str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
        if not text.strip():
            raise DataError(f"{where}, column {column!r}: the value is empty. Drop the row or fill it in.")
        return text
