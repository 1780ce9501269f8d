"""`ada simulate RECIPE`: draws and zero gradient against the pass rate, as in figure 10 of Reinforce-Ada (arXiv 2510.04996)."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

from ada.cli.failures import told
from ada.cli.plan import measured, samplers
from ada.cli.table import print_table
from ada.observability.numbers import fixed
from ada.recipe.validate import read_recipe
from ada.sampling.plan import pool_ends
from ada.sampling.schedules.dapo import Dapo

SHOWN = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99)  # pass rates of the text; the file has 0 to 1 by 0.01


def simulate(name: str, overrides: list[str], *, pass_rates: str, output: str | None, plot: str | None) -> int:
    return told(lambda: _simulate(name, overrides, pass_rates, output, plot))


def _simulate(name: str, overrides: list[str], pass_rates: str, output: str | None, plot: str | None) -> int:
    recipe_name, recipe = read_recipe(name, overrides)
    profile, rates = measured(pass_rates, recipe).profile, np.arange(101) / 100
    columns: dict[str, list[float]] = {"pass_rate": rates.tolist()}
    for sampler in samplers(recipe_name, recipe):
        # What DAPO draws in place of a prompt is other prompts' business: at one pass rate it is its inner schedule.
        schedule = sampler.schedule.inner if isinstance(sampler.schedule, Dapo) else sampler.schedule
        ends = pool_ends(schedule, rates, profile)
        columns[f"{sampler.label} draws"] = ends.expected_draws_P.tolist()
        columns[f"{sampler.label} zero_gradient"] = ends.zero_gradient_P.tolist()
    rows = list(zip(*columns.values(), strict=True))
    for kind, digits in (("draws", 2), ("zero_gradient", 3)):
        labels = [label for label in columns if label.endswith(f" {kind}")]
        print(f"\n{'E[draws]' if kind == 'draws' else 'probability of a zero gradient'} at pass rate p\n")
        shown = [[f"{p:g}"] + [fixed(columns[label][round(100 * p)], digits) for label in labels] for p in SHOWN]
        print_table(["p", *(label.removesuffix(f" {kind}") for label in labels)], shown, highlight=None)
    if output:
        with Path(output).open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([list(columns), *rows])
        print(f"\n{output}: {len(rows)} rows, p from 0 to 1")
    if plot:
        from ada.cli.curves_plot import plot_curves

        plot_curves(columns, Path(plot), own=recipe_name)
        print(f"\n{plot}: the curves")
    return 0
