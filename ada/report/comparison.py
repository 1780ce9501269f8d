"""Several runs beside each other: at equal updates, at equal generated tokens and at equal seconds, and where their recipes differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ada.report.curves import is_number, mean
from ada.report.record import Row, RunRecord

WINDOW = 10  # steps that a training metric is averaged over

METRICS = (
    "reward/first_n",
    "signal/zero_gradient_fraction",
    "sampling/responses_per_prompt",
    "train/entropy",
    "total/generated_tokens",
    "total/seconds",
)


@dataclass(frozen=True)
class Standing:
    """A run when it had spent a budget. `evaluated`: the step of its last evaluation until then; None: there was none."""

    run: str
    step: int
    values: Mapping[str, float | None]
    evaluated: int | None


@dataclass(frozen=True)
class Comparison:
    title: str
    budget: float  # the most that every run has spent
    standings: list[Standing]
    metrics: list[str]  # those of them that any of the runs has


def comparisons(runs: Sequence[RunRecord]) -> list[Comparison]:
    spent = {
        "updates": lambda run, row: row["step"] * (run.key("batch.updates_per_step") or 1),
        "generated tokens": lambda run, row: row.get("total/generated_tokens"),
        "seconds": lambda run, row: row.get("total/seconds"),
    }
    found = []
    for title, of in spent.items():
        ends = [max((of(run, row) or 0 for row in run.trained), default=0) for run in runs]
        budget = min(ends, default=0)
        if budget > 0:
            standings = [standing(run, [row for row in run.steps if row["step"] == 0 or 0 < (of(run, row) or 0) <= budget]) for run in runs]
            names = {
                name: None for one in standings for name, value in one.values.items() if value is not None and not _never(name, standings)
            }
            found.append(Comparison(title, budget, standings, list(names)))
    return found


def _never(name: str, standings: Sequence[Standing]) -> bool:
    """A share of responses that is 0 in all runs, such as of those cut off: nothing to compare."""
    return name.endswith("_fraction") and not any(one.values.get(name) for one in standings)


def standing(run: RunRecord, rows: Sequence[Row]) -> Standing:
    """After `rows`, the first steps of the run: the last evaluation, the mean of training metrics over ten steps, and totals."""
    trained = [row for row in rows if row["step"] > 0]
    evaluated = next((row for row in reversed(rows) if any(name.startswith("eval/") for name in row)), None)
    values = {name: value for name, value in (evaluated or {}).items() if name.startswith("eval/") and is_number(value)}
    for metric in METRICS:
        values[metric] = mean(trained[-1:] if metric.startswith("total/") else trained[-WINDOW:], metric)
    return Standing(run.name, trained[-1]["step"] if trained else 0, values, evaluated["step"] if evaluated else None)


def differences(runs: Sequence[RunRecord]) -> dict[str, list[str]]:
    """Recipe keys that are not the same in all runs, with each run's value; a dash where a recipe lacks the key."""
    flat = [_flat(run.recipe) for run in runs]
    keys = dict.fromkeys(key for one in flat for key in one if key not in ("output", "run_name"))
    values = {key: [one.get(key, "–") for one in flat] for key in keys}
    return {key: row for key, row in values.items() if len(set(row)) > 1}


def _flat(value: Mapping[str, Any], path: str = "") -> dict[str, str]:
    found: dict[str, str] = {}
    for key, inner in value.items():
        if isinstance(inner, Mapping):
            found |= _flat(inner, f"{path}{key}.")
        else:
            found[f"{path}{key}"] = "null" if inner is None else str(inner)
    return found
