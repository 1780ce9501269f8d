"""The forecasts of `ada simulate steps` as a figure: step time and idle share of each sampler against the number of GPUs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from cycler import cycler
from matplotlib import color_sequences

from ada.cli.figure import figure_for, look
from ada.simulation.samplers import BASELINE
from ada.simulation.steps import StepForecast


def plot_steps(found: Mapping[int, Mapping[str, StepForecast]], path: Path, own: str | None) -> None:
    """`found`: by GPUs, then by sampler. `own` is thick and black. Raises RecipeError."""
    figure = figure_for(path)
    times, idle = figure.subplots(1, 2)
    for axes in (times, idle):
        axes.set_prop_cycle(cycler(linestyle=["-", "--"]) * cycler("color", color_sequences["tab10"]))  # more samplers than colours
    gpus = list(found)
    for label in found[gpus[0]]:
        forecasts = [found[count][label] for count in gpus]
        ratios = [of.seconds / found[count][BASELINE].seconds for count, of in zip(gpus, forecasts, strict=True)]
        times.plot(gpus, ratios, marker=".", label=label, **look(label, own))
        idle.plot(gpus, [of.idle for of in forecasts], marker=".", **look(label, own))
    for axes, title in ((times, f"step time, of {BASELINE}'s"), (idle, "share of the generation in which a GPU is idle")):
        axes.set_xscale("log", base=2)
        axes.set_xticks(gpus, [f"{count:,}" for count in gpus])
        axes.set(xlabel="GPUs", ylabel=title)
        axes.set_ylim(bottom=0)
        axes.grid(alpha=0.3)
    figure.legend(loc="outside right center", fontsize="small")
    figure.savefig(path, dpi=150)
