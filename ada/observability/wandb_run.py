"""What is particular to a run on wandb: axes, summaries, and tables of samples. wandb makes a section of each prefix of a metric's name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

AXES = ("step", "total/generated_tokens", "total/seconds")
"""What curves can be drawn against: updates of the policy, what was spent on drawing, and time."""

SUMMARIES = {  # of all steps, what stands in the table of runs; by prefix or name, the first that fits
    "eval/": "max,last",
    "reward/timeouts": "max,last",
    "reward/errors": "max,last",
    "reward/": "max,last",
    "mismatch/": "max,last",
    "sampling/": "mean,last",
    "signal/": "mean,last",
    "completions/": "mean,last",
    "throughput/": "mean,last",
    "time/": "mean,last",
    "": "last",
}


def define(run: Any, names: Sequence[str]) -> None:
    """Tells wandb each metric's axis and summary, before its first value comes."""
    for name in names:
        if name in AXES:
            run.define_metric(name, summary="max")
        else:
            summary = next(summary for prefix, summary in SUMMARIES.items() if name.startswith(prefix))
            run.define_metric(name, step_metric=AXES[0], summary=summary)


def table(rows: Sequence[Mapping[str, Any]]) -> Any:
    """Samples of a step, a row each, as wandb shows, sorts and filters them."""
    import wandb

    columns: list[str | int] = list(rows[0])
    return wandb.Table(columns=columns, data=[[_cell(row[str(column)]) for column in columns] for row in rows])


def _cell(value: Any) -> Any:
    """wandb wants one type a column; parts of a reward differ from row to row."""
    return ", ".join(f"{key} {part:g}" for key, part in value.items()) if isinstance(value, Mapping) else value
