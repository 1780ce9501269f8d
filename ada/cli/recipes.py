"""`ada recipes`: the names that `ada train` knows, and what each is, out of the comment at the head of its file."""

from __future__ import annotations

import re
import sys
from itertools import takewhile
from pathlib import Path

from ada.cli.failures import WRONG_INPUT
from ada.recipe.load import recipe_folders


def recipes(words: list[str]) -> int:
    paths = {path.stem: path for folder in reversed(recipe_folders()) for path in folder.glob("*.yaml")}
    found = {name: _is(paths[name]) for name in sorted(paths)}
    shown = {name: said for name, said in found.items() if all(word.lower() in f"{name} {said}".lower() for word in words)}
    if not shown:
        print(f"error: none of {len(found)} recipes has {' and '.join(map(repr, words))} in its name or description", file=sys.stderr)
        return WRONG_INPUT
    width = max(map(len, shown))
    for name, said in shown.items():
        print(f"{name:<{width}}  {said}".rstrip())
    return 0


def _is(path: Path) -> str:
    """The first sentence of its first comment."""
    head = takewhile(lambda line: line.startswith("#"), path.read_text(encoding="utf-8").splitlines())
    text = " ".join(line.lstrip("# ") for line in head)
    return re.split(r"(?<!\bDr)\. (?=[A-Z]|make )|\.$", text)[0]
