"""A run's folder as it is read for a report: of a finished run, of one that goes on, or of one that was killed."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

Row = Mapping[str, Any]

POOL_KEYS = ("prompts", "verdicts", "outcomes", "beliefs")


@dataclass(frozen=True)
class RunRecord:
    name: str
    path: Path
    recipe: Mapping[str, Any]  # as resolved; empty where recipe.yaml is missing
    recipe_text: str
    steps: list[Row]  # of metrics.jsonl in their order, each step once; NaN and infinities are None
    pools: list[Row]  # of pools.jsonl, likewise
    samples: list[Row]
    summary: Row | None  # None: the run did not come to its end
    unread: dict[str, int] = field(default_factory=dict)  # lines that are not what the file holds, by file

    @property
    def trained(self) -> list[Row]:
        """Without step 0, which holds the evaluation before training."""
        return [row for row in self.steps if row["step"] > 0]

    def key(self, path: str) -> Any:
        """The recipe's value at a dotted key; None where there is none."""
        value: Any = self.recipe
        for part in path.split("."):
            value = value.get(part) if isinstance(value, Mapping) else None
        return value


def find_run(run: str) -> Path:
    """`run`: a run's folder, or its name in ./runs. Raises FileNotFoundError."""
    for path in (Path(run), Path("runs") / run):
        if (path / "metrics.jsonl").is_file() or (path / "recipe.yaml").is_file():
            return path
    beside = Path(run).parent if "/" in run else Path("runs")
    there = sorted(file.parent.name for file in beside.glob("*/recipe.yaml"))
    raise FileNotFoundError(
        f"{run}: no run is there (a folder with recipe.yaml or metrics.jsonl). Runs in {beside}: {', '.join(there) or 'none'}."
    )


def read_run(path: Path) -> RunRecord:
    unread: dict[str, int] = {}
    recipe_text = _text(path / "recipe.yaml")
    try:
        recipe = yaml.safe_load(recipe_text)
    except yaml.YAMLError:
        recipe = None
        unread["recipe.yaml"] = 1
    return RunRecord(
        name=path.resolve().name,
        path=path,
        recipe=recipe if isinstance(recipe, Mapping) else {},
        recipe_text=recipe_text,
        steps=_by_step(_lines(path / "metrics.jsonl", unread, ())),
        pools=_by_step(_lines(path / "pools.jsonl", unread, POOL_KEYS)),
        samples=list(_lines(path / "samples.jsonl", unread, ("verdict", "response"))),
        summary=_summary(path / "summary.json", unread),
        unread=unread,
    )


def _by_step(rows: Iterator[Row]) -> list[Row]:
    """The last line of each step: where a run went on from an earlier one, the later line is what happened."""
    found = {row["step"]: row for row in rows}
    return [found[step] for step in sorted(found)]


def _lines(path: Path, unread: dict[str, int], keys: tuple[str, ...]) -> Iterator[Row]:
    """Objects that have a step and `keys`. A last line without its newline may be half a line: a kill leaves it, or it is being written."""
    if not path.is_file():
        return
    with path.open(encoding="utf-8", errors="replace", newline="\n") as file:
        for line in file:
            try:
                row = json.loads(line, parse_constant=lambda _: None)
            except ValueError:
                row = None
            if isinstance(row, dict) and isinstance(row.get("step"), int) and row.keys() >= set(keys):
                yield {key: _finite(value) for key, value in row.items()}
            elif line.endswith("\n"):
                unread[path.name] = unread.get(path.name, 0) + 1


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _summary(path: Path, unread: dict[str, int]) -> Row | None:
    try:
        summary = json.loads(_text(path) or "null")
    except ValueError:
        summary = None
        unread[path.name] = 1
    return summary if isinstance(summary, dict) else None


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
