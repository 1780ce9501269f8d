"""`ada prepare RECIPE --output FOLDER`: the problems of a data set that are worth training on, with the base model's pass rates."""

from __future__ import annotations

import os
from pathlib import Path

from ada.cli.failures import told
from ada.prepare.keep import read_keep
from ada.recipe.errors import RecipeError
from ada.recipe.load import find_recipe
from ada.recipe.validate import read_recipe
from ada.shutdown import StopRequest


def prepare(name: str, overrides: list[str], *, output: str, keep: str, draws: int) -> int:
    return told(lambda: _prepare(name, overrides, Path(output), keep, draws))


def _prepare(name: str, overrides: list[str], output: Path, keep: str, draws: int) -> int:
    recipe_name, recipe = read_recipe(name, overrides)
    if draws < 1:
        raise RecipeError(f"--draws {draws}: it must be 1 or more")
    rule = read_keep(keep, draws)
    stop = StopRequest().install()

    from ada.prepare.pipeline import prepare as run
    from ada.sampling.collector import Stopped

    first, lines = os.environ.get("RANK", "0") == "0", []
    try:
        found = run(recipe, recipe_name, output, rule, draws, stop, find_recipe(name).parent)
    except Stopped:
        lines = [f"stopped by {stop.name or 'another rank'}; the same command goes on from here"]
    else:
        lines = [
            f"{len(found.kept)} of {found.read} problems kept: {keep}",
            f"problems   {output / 'problems.parquet'}",
            f"report     {output / 'report.md'}",
        ]
        if not found.kept:
            lines[0] += f"\nNone is left: {output / 'report.md'} shows the pass rates; another --keep draws nothing anew."
    if first:
        print("\n".join(lines), flush=True)
    stop.ended()
    return stop.exit_code
