"""What a preparation has found out so far, one JSON object a line: killed at any moment, it goes on from there."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ada.data.sources import DataError


@dataclass(frozen=True, slots=True)
class Drawn:
    """What the base model's responses to one problem came to."""

    id: str
    right: int
    wrong: int  # cut-off ones among them
    unknown: int  # without a verdict
    cut_off: int
    tokens: int

    @property
    def judged(self) -> int:
        return self.right + self.wrong


class Journal:
    """The first line holds the settings that decide what is drawn; others may not go on in the same file."""

    def __init__(self, path: Path, settings: dict[str, Any]):
        """Raises DataError where the file was begun with other settings, or is no journal."""
        self.golds: dict[str, str] = {}  # of each problem by id: `right`, `wrong`, or why there is no verdict
        self.drawn: dict[str, Drawn] = {}
        self._path = path
        lines = _whole_lines(path)
        if lines:
            self._read(lines, settings)
        self._file = path.open("a", encoding="utf-8")
        if not lines:
            self._write([{"settings": settings}])

    def note_golds(self, verdicts: dict[str, str]) -> None:
        self.golds |= verdicts
        self._write({"gold": id, "verdict": verdict} for id, verdict in verdicts.items())

    def note_drawn(self, drawn: Iterable[Drawn]) -> None:
        new = [one for one in drawn if one.id not in self.drawn]
        self.drawn |= {one.id: one for one in new}
        self._write(map(asdict, new))

    def close(self) -> None:
        self._file.close()

    def _write(self, records: Iterable[dict[str, Any]]) -> None:
        self._file.writelines(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
        self._file.flush()
        os.fsync(self._file.fileno())

    def _read(self, lines: list[bytes], settings: dict[str, Any]) -> None:
        for number, line in enumerate(lines, start=1):
            try:
                record = json.loads(line)
                if number == 1:
                    self._require_same(record["settings"], json.loads(json.dumps(settings)))
                elif "gold" in record:
                    self.golds[record["gold"]] = record["verdict"]
                else:
                    self.drawn[record["id"]] = Drawn(**record)
            except (ValueError, KeyError, TypeError) as error:
                if isinstance(error, DataError):
                    raise
                raise DataError(f"{self._path}, line {number}: not a line of a preparation's journal. Choose another --output.") from None

    def _require_same(self, there: dict[str, Any], here: dict[str, Any]) -> None:
        other = [key for key in sorted(there.keys() | here.keys()) if there.get(key) != here.get(key)]
        if other:
            differences = "; ".join(f"{key} is {there.get(key)!r:.100} there and {here.get(key)!r:.100} now" for key in other)
            raise DataError(f"{self._path}: begun with other settings: {differences}. Choose another --output, or delete the file.")


def _whole_lines(path: Path) -> list[bytes]:
    """The lines of the file; one that a kill cut short is taken off it."""
    if not path.exists():
        return []
    content = path.read_bytes()
    whole = content[: content.rfind(b"\n") + 1]
    if len(whole) < len(content):
        with path.open("rb+") as file:
            file.truncate(len(whole))
    return whole.splitlines()
