"""The experiment's figures, as SVG files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np

from ada.reproduce.experiment import WORDS, Axis, Experiment
from ada.reproduce.outcome import Outcome

matplotlib.use("Agg")
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.ticker import EngFormatter

LABELS: dict[Axis, str] = {**WORDS, "updates": "step"}
WINDOW = 5  # steps that training metrics are averaged over
STYLE: Any = {
    "svg.hashsalt": "ada",  # the same figure gives the same file
    "font.size": 9.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.25,
}

ByMethod = Mapping[str, Sequence[Outcome]]


def draw(outcomes: Sequence[Outcome], experiment: Experiment, folder: Path) -> dict[str, str]:
    """Writes them; gives the file's name by title, in the page's order."""
    folder.mkdir(parents=True, exist_ok=True)
    methods: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        methods.setdefault(outcome.method, []).append(outcome)
    figures = {
        "Held-out accuracy": ("accuracy", _accuracy),
        "Training reward and signal": ("training", _training),
        "Reward against entropy": ("frontier", _frontier),
        "Held-out pass@8 before and after": ("pass_at_8", _pass_at_k),
    }
    files = {}
    with matplotlib.rc_context(STYLE):
        for title, (name, paint) in figures.items():
            paint(methods, experiment)
            plt.savefig(folder / f"{name}.svg", metadata={"Date": None}, bbox_inches="tight")
            plt.close()
            files[title] = f"{name}.svg"
    return files


def _accuracy(methods: ByMethod, experiment: Experiment) -> None:
    _, panels = plt.subplots(1, len(experiment.axes), figsize=(12, 3.6), sharey=True, layout="constrained")
    for panel, axis in zip(panels, experiment.axes, strict=True):
        for number, (method, outcomes) in enumerate(methods.items()):
            end = min(float(o.spent_E[axis][-1]) for o in outcomes)
            grid = np.linspace(0, end, 60)
            _line(panel, number, method, grid, np.array([np.interp(grid, o.spent_E[axis], o.accuracy_E) for o in outcomes]))
        panel.set_xlabel(LABELS[axis])
        panel.xaxis.set_major_formatter(EngFormatter(sep=""))
    panels[0].set_ylabel("held-out Ave@8")
    panels[-1].legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)


def _training(methods: ByMethod, experiment: Experiment) -> None:
    metrics = {
        "reward/first_n": "reward of the first draws (reward/first_n)",
        "signal/zero_gradient_fraction": "zero-gradient fraction",
        "sampling/responses": "responses a step",
    }
    _, panels = plt.subplots(1, 3, figsize=(12, 3.6), layout="constrained")
    for panel, (metric, label) in zip(panels, metrics.items(), strict=True):
        for number, (method, outcomes) in enumerate(methods.items()):
            series = np.array([_smooth(o.series_S(metric)[: experiment.updates]) for o in outcomes])
            _line(panel, number, method, np.arange(1, series.shape[1] + 1) + (WINDOW - 1) / 2, series)
        panel.set_xlabel("step")
        panel.set_ylabel(label)
    panels[-1].legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)


def _frontier(methods: ByMethod, experiment: Experiment) -> None:
    _, panel = plt.subplots(figsize=(6, 4))
    for number, (method, outcomes) in enumerate(methods.items()):
        reward, entropy = (
            np.mean([_smooth(o.series_S(metric)[: experiment.updates]) for o in outcomes], 0)
            for metric in ("reward/first_n", "train/entropy")
        )
        panel.plot(entropy, reward, color=f"C{number % 10}", linestyle="-" if number < 10 else "--", label=method)
        panel.plot(entropy[-1:], reward[-1:], "o", color=f"C{number % 10}", markersize=4)
    panel.set_xlabel("entropy of the trained tokens (nats); each line ends in its dot")
    panel.set_ylabel("reward of the first draws (reward/first_n)")
    panel.legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)


def _pass_at_k(methods: ByMethod, experiment: Experiment) -> None:
    _, panel = plt.subplots(figsize=(6, 0.35 * len(methods) + 1))
    for place, outcomes in enumerate(methods.values()):
        before, after = np.mean([o.pass_at_k for o in outcomes], 0)
        panel.plot([before, after], [place, place], color="0.7", zorder=1)
        panel.scatter([before], [place], color="0.5", label="before" if not place else None)
        panel.scatter([after], [place], color="C0", label="at the end" if not place else None)
    panel.set_yticks(range(len(methods)), list(methods))
    panel.invert_yaxis()
    panel.set_xlabel("held-out pass@8")
    panel.legend(frameon=False)


def _line(panel: Axes, number: int, method: str, x: np.ndarray, series_NX: np.ndarray) -> None:
    """The mean of N runs, and a band of one standard error."""
    mean = series_NX.mean(0)
    panel.plot(x, mean, color=f"C{number % 10}", linestyle="-" if number < 10 else "--", label=method, linewidth=1.4)
    if len(series_NX) > 1:
        error = series_NX.std(0, ddof=1) / np.sqrt(len(series_NX))
        panel.fill_between(x, mean - error, mean + error, color=f"C{number % 10}", alpha=0.12, linewidth=0)


def _smooth(values_S: np.ndarray) -> np.ndarray:
    return np.convolve(values_S, np.ones(WINDOW) / WINDOW, "valid")
