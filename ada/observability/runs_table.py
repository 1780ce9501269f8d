"""The runs of a folder and their key figures, out of what each left behind."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from ada.observability.json_lines import JsonLines
from ada.observability.numbers import clock, compact, fixed, percent

COLUMNS = ("run", "state", "steps", "reward", "zero gradient", "held out", "tokens", "time")
_RECENT = 10  # steps that reward and zero gradient are means of
_ALIVE_SECONDS = 600.0  # a run whose last line is older has stopped without a word


def rows(root: Path) -> list[list[str]]:
    """A row for each run, the one that wrote last at the end."""
    folders = [path.parent for path in root.glob("*/metrics.jsonl")]
    return [_row(folder) for folder in sorted(folders, key=lambda folder: (folder / "metrics.jsonl").stat().st_mtime)]


def _row(folder: Path) -> list[str]:
    steps = JsonLines(folder / "metrics.jsonl").read()
    recipe = yaml.safe_load((folder / "recipe.yaml").read_text()) if (folder / "recipe.yaml").is_file() else {}
    trained = [step for step in steps if step.get("step") and "error" not in step]
    last: Mapping[str, Any] = trained[-1] if trained else {}
    return [
        folder.name,
        _state(folder, steps),
        f"{last.get('step', 0)}/{recipe.get('steps', '?')}",
        fixed(_recent(trained, "reward/mean"), 3),
        percent(_recent(trained, "signal/zero_gradient_fraction")),
        _held_out(steps),
        compact(last.get("total/generated_tokens")),
        clock(last.get("total/seconds")),
    ]


def _state(folder: Path, steps: Sequence[Mapping[str, Any]]) -> str:
    if (folder / "summary.json").is_file():
        stopped_by = json.loads((folder / "summary.json").read_text()).get("stopped_by")
        return f"stopped: {str(stopped_by).partition(':')[0]}" if stopped_by else "done"
    if steps and "error" in steps[-1]:
        return "failed"
    silent = time.time() - (folder / "metrics.jsonl").stat().st_mtime
    return "running" if silent < _ALIVE_SECONDS else f"silent for {clock(silent)}"


def _held_out(steps: Sequence[Mapping[str, Any]]) -> str:
    """The first set's avg@k, before and after."""
    name = next((name for step in steps for name in step if name.startswith("eval/") and "/avg@" in name), None)
    values = [step[name] for step in steps if step.get(name) is not None] if name else []
    if not name or not values:
        return "–"
    return f"{fixed(values[0], 3)} -> {fixed(values[-1], 3)}" if len(values) > 1 else fixed(values[0], 3)


def _recent(steps: Sequence[Mapping[str, Any]], name: str) -> float | None:
    values = [step[name] for step in steps[-_RECENT:] if step.get(name) is not None]
    return sum(values) / len(values) if values else None
