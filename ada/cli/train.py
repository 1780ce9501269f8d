from __future__ import annotations

import os

from ada.cli.failures import told
from ada.recipe.load import find_recipe
from ada.recipe.validate import read_recipe
from ada.shutdown import StopRequest


def train(name: str, overrides: list[str]) -> int:
    return told(lambda: _train(name, overrides))


def _train(name: str, overrides: list[str]) -> int:
    recipe_name, recipe = read_recipe(name, overrides)
    stop = StopRequest().install()

    from ada.loop import train as loop
    from ada.open_run import open_run
    from ada.run import closing_report
    from ada.sampling.collector import Stopped

    with open_run(recipe, recipe_name, stop, beside=find_recipe(name).parent) as run:
        stopped_by = None
        try:
            loop(run)
        except Stopped:
            stopped_by = stop.name or "another rank"
        except BaseException as error:
            closing_report(run, f"{type(error).__name__}: {error}")
            raise
        lines = closing_report(run, stopped_by)
        if stop.saved:
            lines.append(f"Saved. The same command with run_name={run.path.name} goes on from here.")
    if lines and os.environ.get("RANK", "0") == "0":
        print("\n" + "\n".join(lines), flush=True)
    stop.ended()
    return stop.exit_code
