"""The curves of `ada simulate` as a figure, like figure 10 of Reinforce-Ada (arXiv 2510.04996)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from ada.cli.figure import figure_for, look


def plot_curves(columns: Mapping[str, Sequence[float]], path: Path, own: str) -> None:
    """`columns`: `pass_rate`, and `<sampler> draws` and `<sampler> zero_gradient` of each. `own` is thick and black. Raises RecipeError."""
    figure = figure_for(path)
    for axes, kind, title in zip(
        figure.subplots(1, 2), ("draws", "zero_gradient"), ("responses per prompt asked for", "probability of a zero gradient"), strict=True
    ):
        for label, values in columns.items():
            if label.endswith(f" {kind}"):
                sampler = label.removesuffix(f" {kind}")
                axes.plot(columns["pass_rate"], values, label=sampler, **look(sampler, own))
        axes.set(xlabel="pass rate p", ylabel=title, xlim=(0, 1))
        axes.grid(alpha=0.3)
    draws, zero_gradient = figure.axes
    draws.set_yscale("log", base=2)  # DAPO refills up to ten times what others draw
    draws.yaxis.set_major_formatter("{x:g}")
    zero_gradient.set_ylim(bottom=0)
    zero_gradient.legend(fontsize="small")
    figure.savefig(path, dpi=150)
