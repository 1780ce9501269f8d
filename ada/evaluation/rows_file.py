"""rows-<rank>.jsonl in an evaluation's folder: a line a problem, appended as it is done, so that a killed evaluation goes on."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from ada.evaluation.row import Row
from ada.observability.json_lines import JsonLines


def read_rows(folder: Path) -> dict[str, Row]:
    """By prompt id, of all ranks. A line that a kill cut short is no row: its problem is drawn again, with the same seeds."""
    rows: dict[str, Row] = {}
    for path in sorted(folder.glob("rows-*.jsonl")):
        for line in path.read_text(encoding="utf-8").split("\n")[:-1]:
            row = Row.from_json(json.loads(line))
            rows.setdefault(row.id, row)
    return rows


def by_set(rows: Iterable[Row], sets: Iterable[str]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {name: [] for name in sets}
    for row in rows:
        found[row.id.partition("/")[0]].append(row)
    return found


class RowsFile:
    """One rank's own file: no two processes write to one."""

    def __init__(self, folder: Path, rank: int):
        self._lines = JsonLines(folder / f"rows-{rank}.jsonl")

    def append(self, row: Row) -> None:
        self._lines.append(row.to_json())

    def close(self) -> None:
        self._lines.close()
