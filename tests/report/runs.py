"""Folders of runs, written by hand."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

RECIPE = {
    "steps": 50,
    "model": {"path": "microworld", "dtype": "float32"},
    "batch": {"prompts_per_step": 2, "updates_per_step": 2},
    "sampling": {"schedule": {"name": "seq", "max_draws": 32}},
}


def step(number: int, **metrics: Any) -> dict[str, Any]:
    """`reward_mean=0.5` is the metric `reward/mean`."""
    return {"step": number} | {name.replace("_", "/", 1): value for name, value in metrics.items()}


def pools(number: int, *verdicts: str, outcome: str = "resolved", beliefs: Sequence[float | None] | None = None) -> dict[str, Any]:
    count = len(verdicts)
    return {
        "step": number,
        "prompts": [f"p/{i}" for i in range(count)],
        "verdicts": list(verdicts),
        "outcomes": [outcome] * count,
        "beliefs": list(beliefs or [None] * count),
    }


def sample(number: int, response: str, verdict: str = "wrong", **others: Any) -> dict[str, Any]:
    row = {"step": number, "prompt_id": "p/0", "draw": 0, "verdict": verdict, "reward": None, "prompt": "1+2=", "response": response}
    return row | {"answer": "3", "finish_reason": "stop", "tokens": 4} | others


def write(
    folder: Path,
    metrics: Sequence[Mapping[str, Any]] = (),
    pools: Sequence[Mapping[str, Any]] = (),
    samples: Sequence[Mapping[str, Any]] = (),
    summary: Mapping[str, Any] | None = None,
    recipe: Mapping[str, Any] = RECIPE,
) -> Path:
    folder.mkdir(parents=True)
    (folder / "recipe.yaml").write_text(json.dumps(recipe))
    for name, rows in (("metrics", metrics), ("pools", pools), ("samples", samples)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    if summary is not None:
        (folder / "summary.json").write_text(json.dumps(summary))
    return folder
