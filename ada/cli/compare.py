"""`ada compare FIRST SECOND`: the paired difference of two evaluations, with its interval."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ada.cli.failures import told
from ada.recipe.errors import RecipeError


def compare(first: str, second: str) -> int:
    return told(lambda: say_differences(Path(first), Path(second)))


def say_differences(first: Path, second: Path) -> int:
    from ada.evaluation.comparison import differences
    from ada.evaluation.report import differences_markdown
    from ada.evaluation.rows_file import by_set, read_rows

    both = [settings(folder) for folder in (first, second)]
    ours, theirs = (
        by_set(read_rows(folder).values(), said["settings"]["sets"]) for folder, said in zip((first, second), both, strict=True)
    )
    found = differences(ours, theirs, both[1]["settings"]["unions"])
    if not found:
        raise RecipeError(f"{first} and {second} have no problem in common: they hold {', '.join(ours)} and {', '.join(theirs)}.")
    print(differences_markdown(str(first), str(second), found), flush=True)
    for key in sorted(both[0]["settings"].keys() & both[1]["settings"].keys() - {"sets", "unions", "labels"}):
        one, other = (said["settings"][key] for said in both)
        if one != other:
            print(f"The two differ in {key}: {one!r} and {other!r}.", flush=True)
    return 0


def settings(folder: Path) -> dict[str, Any]:
    from ada.evaluation.standalone import SETTINGS

    if not (folder / SETTINGS).is_file():
        raise FileNotFoundError(f"{folder}: no evaluation is there ({SETTINGS} is missing). Name the folder that `ada eval` wrote.")
    content: dict[str, Any] = json.loads((folder / SETTINGS).read_text())
    return content
