from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from ada.config import config
from ada.data.columns import Columns, Record
from ada.data.sources import DataError, MissingData

LONGEST_LINE = 1 << 26  # bytes: a file without line ends is not read into memory whole


@config
class Jsonl(Columns):
    """Problems from a file with one JSON object a line, UTF-8."""

    name: Literal["jsonl"] = "jsonl"
    path: Annotated[str, Field(description="the file; relative paths start at the working directory")]

    def records(self) -> Iterator[Record]:
        path = Path(self.path).expanduser()
        if not path.exists():
            raise MissingData(f"{path}: no such file. Set data.train.path (or the evaluation set's path) to a .jsonl file.")
        try:
            with path.open("rb") as lines:
                for number, line in enumerate(iter(lambda: lines.readline(LONGEST_LINE + 1), b""), start=1):
                    where = f"{path}, line {number}"
                    if len(line) > LONGEST_LINE:
                        raise DataError(f"{where}: more than {LONGEST_LINE:,} bytes. A .jsonl file has one JSON object a line.")
                    if line.strip():
                        yield where, number, self._values(line, where, "utf-8-sig" if number == 1 else "utf-8")
        except OSError as error:
            raise DataError(f"{path}: cannot be read ({error.strerror}). Give a .jsonl file that you may read.") from None

    def _values(self, line: bytes, where: str, encoding: str) -> dict[str, Any]:
        try:
            values = json.loads(line.decode(encoding))
        except UnicodeDecodeError as error:
            before = len(line[: error.start].decode(encoding)) + 1
            raise DataError(
                f"{where}, column {before}: byte 0x{error.object[error.start]:02x} is not UTF-8. Convert the file, for example with iconv."
            ) from None
        except json.JSONDecodeError as error:
            raise DataError(f"{where}, column {error.colno}: not valid JSON ({error.msg}).") from None
        except (RecursionError, ValueError) as error:
            raise DataError(f"{where}: JSON that cannot be read ({error}).") from None
        if not isinstance(values, dict):
            raise DataError(
                f"{where}: found a JSON {type(values).__name__}; each line must be an object "
                f"with the columns {self.problem!r} and {self.answer!r}."
            )
        return values
