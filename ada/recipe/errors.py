"""One clear line for each thing wrong with a recipe: file, key, value, what is allowed, the nearest known key."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class RecipeError(ValueError):
    """A recipe that cannot be run; the command line prints it without a traceback and exits with 2."""

    @classmethod
    def unknown_name(cls, message: str, name: str, known: Iterable[str]) -> RecipeError:
        known = list(known)
        near = get_close_matches(name, known, n=1, cutoff=0.5)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        return cls(f"{message}.{hint} Known: {', '.join(known)}.")
