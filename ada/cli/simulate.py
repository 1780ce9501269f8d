"""`ada simulate RECIPE`: draws and zero gradient against the pass rate, as in figure 10 of Reinforce-Ada (arXiv 2510.04996)."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

from ada.cli.failures import told
from ada.cli.plan import measured, samplers
from ada.cli.table import print_table
from ada.contracts import Schedule
from ada.observability.numbers import fixed
from ada.recipe.validate import read_recipe
from ada.sampling.plan import pool_ends
from ada.sampling.profile import Floats, Profile
from ada.sampling.refills import opened_per_group
from ada.sampling.schedules.dapo import Dapo

SHOWN = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99)  # pass rates of the text; the file has 0 to 1 by 0.01


def simulate(name: str, overrides: list[str], *, pass_rates: str, output: str | None, plot: str | None) -> int:
    return told(lambda: _simulate(name, overrides, pass_rates, output, plot))


def _simulate(name: str, overrides: list[str], pass_rates: str, output: str | None, plot: str | None) -> int:
    recipe_name, recipe = read_recipe(name, overrides)
    prompts = recipe.batch.prompts_per_step
    profile, rates = measured(pass_rates, recipe).profile, np.arange(101) / 100
    columns: dict[str, list[float]] = {"pass_rate": rates.tolist()}
    for sampler in samplers(recipe_name, recipe):
        draws, zero_gradient = curves(sampler.schedule, rates, profile, prompts)
        columns[f"{sampler.label} draws"] = draws.tolist()
        columns[f"{sampler.label} zero_gradient"] = zero_gradient.tolist()
    rows = list(zip(*columns.values(), strict=True))
    for kind, digits in (("draws", 2), ("zero_gradient", 3)):
        labels = [label for label in columns if label.endswith(f" {kind}")]
        print(f"\n{'E[draws]' if kind == 'draws' else 'probability of a zero gradient'}, per prompt asked for, at pass rate p\n")
        shown = [[f"{p:g}"] + [fixed(columns[label][round(100 * p)], digits) for label in labels] for p in SHOWN]
        print_table(["p", *(label.removesuffix(f" {kind}") for label in labels)], shown, highlight=None)
    print(
        f"\nDAPO: of a step whose {prompts} prompts, and those drawn in their place, are all of pass rate p; its zero gradient is\n"
        "the share of groups that are missing at its cap."
    )
    if output:
        with Path(output).open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([list(columns), *rows])
        print(f"\n{output}: {len(rows)} rows, p from 0 to 1")
    if plot:
        from ada.cli.curves_plot import plot_curves

        plot_curves(columns, Path(plot), own=recipe_name)
        print(f"\n{plot}: the curves")
    return 0


def curves(schedule: Schedule, p: Floats, profile: Profile, prompts: int) -> tuple[Floats, Floats]:
    """E[draws] and share without a gradient, per prompt asked for, at pass rates `p`; `profile` as for `pool_ends`."""
    if not isinstance(schedule, Dapo):
        ends = pool_ends(schedule, p, profile)
        return ends.expected_draws_P, ends.zero_gradient_P
    draws, zero_gradient = curves(schedule.inner, p, profile, prompts)
    opened = opened_per_group(1 - zero_gradient, prompts, schedule.max_gen_batches)
    return opened * draws, np.maximum(1 - opened * (1 - zero_gradient), 0.0)
