"""The experiment as a page of Markdown with its figures beside it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

import jinja2
import numpy as np

from ada.reproduce.claims import judge
from ada.reproduce.comparison import Comparison, Difference, compare, mean_and_error
from ada.reproduce.experiment import WORDS, Axis, Experiment
from ada.reproduce.figures import draw
from ada.reproduce.outcome import Outcome, common_budget


def write_page(outcomes: Sequence[Outcome], experiment: Experiment, command: str, page: Path) -> None:
    """`page` and, in a folder of the same name beside it, its figures. `command`: what a reader types to make it anew."""
    budgets: dict[Axis, float] = {
        axis: float(experiment.updates) if axis == "updates" else common_budget(outcomes, axis) for axis in experiment.axes
    }
    figures = draw(outcomes, experiment, page.with_suffix(""))
    environment = jinja2.Environment(trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined)
    environment.filters |= {"plus_minus": plus_minus, "versus": versus}
    seeds = {method.name: sorted(o.seed for o in outcomes if o.method == method.name) for method in experiment.methods}
    text = environment.from_string(files("ada.reproduce").joinpath("page.md.jinja").read_text(encoding="utf-8")).render(
        title=experiment.title,
        words=WORDS,
        command=command,
        comparisons=[compare(outcomes, axis, budget, experiment.baselines) for axis, budget in budgets.items()],
        training=[training(name, outcomes, experiment) for name, found in seeds.items() if found],
        claims=judge(experiment.claims, outcomes, budgets),
        deviations=deviations(compare(outcomes, "updates", float(experiment.updates), ()), experiment),
        baselines=[name for name in experiment.baselines if seeds.get(name)],
        columns=list(experiment.columns),
        figures={title: f"{page.stem}/{file}" for title, file in figures.items()},
        seeds=seeds,
        updates=experiment.updates,
    )
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(text, encoding="utf-8")


def training(method: str, outcomes: Sequence[Outcome], experiment: Experiment) -> dict[str, object]:
    """What a method's first `experiment.updates` steps were like, over its seeds."""
    runs = [o for o in outcomes if o.method == method]

    def over_steps(metric: str) -> tuple[float, float]:
        return mean_and_error([_mean(o.series_S(metric)[: experiment.updates]) for o in runs])

    return {
        "method": method,
        "zero_gradient": over_steps("signal/zero_gradient_fraction"),
        "responses": over_steps("sampling/responses")[0],
        "cpu_seconds": over_steps("time/cpu")[0],
        "grad_norm": over_steps("train/grad_norm")[0],
        "entropy": mean_and_error([float(o.series_S("train/entropy")[: experiment.updates][-5:].mean()) for o in runs]),
        "columns": [over_steps(metric) for metric in experiment.columns.values()],
        "pass_at_8": tuple(float(np.mean([o.pass_at_k[i] for o in runs])) for i in (0, 1)),
    }


def _mean(values: np.ndarray) -> float:
    """Of those that are there; NaN where none is."""
    there = values[~np.isnan(values)]
    return float(there.mean()) if len(there) else math.nan


def deviations(at_updates: Comparison, experiment: Experiment) -> dict[str, object] | None:
    """Against the earlier prototype, with both sides' errors; `apart`: once more after the shift that all methods share is taken out.

    None where it had none of the methods.
    """
    prototype = {method.name: method.prototype for method in experiment.methods}
    rows = [(row, there) for row in at_updates.standings if (there := prototype[row.method])]
    if not rows:
        return None
    shift = float(np.mean([row.mean - there[0] for row, there in rows]))
    methods = [
        {
            "method": row.method,
            "here": (row.mean, row.error),
            "there": there,
            "z": (row.mean - there[0]) / (error := math.hypot(there[1], 0.0 if math.isnan(row.error) else row.error)),
            "apart": (row.mean - there[0] - shift) / error,
        }
        for row, there in rows
    ]
    return {"shift": shift, "methods": methods}


def plus_minus(value: tuple[float, float]) -> str:
    mean, error = value
    if math.isnan(mean):
        return "–"
    return f"{mean:.3f}" if math.isnan(error) else f"{mean:.3f} ± {error:.3f}"


def versus(found: Difference | None) -> str:
    if found is None:
        return "–"
    return f"{found.mean:+.3f} ± {found.error:.3f}" + ("" if math.isnan(found.p) else f" (p {found.p:.2g})")
