"""One clear line for each thing wrong with a recipe: file, key, value, what is allowed, the nearest known key."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

A_LINE = 20  # names at most that a message lists


class RecipeError(ValueError):
    """A recipe that cannot be run; the command line prints it without a traceback and exits with 2."""

    @classmethod
    def unknown_name(cls, message: str, name: str, known: Iterable[str], listed_by: str | None = None) -> RecipeError:
        """`listed_by`: a command that lists what is known, where that is too much for a line."""
        known = list(known)
        near = get_close_matches(name, known, n=3, cutoff=0.5)
        hint = f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
        if len(known) <= A_LINE:
            return cls(f"{message}.{hint} Known: {', '.join(known)}.")
        return cls(f"{message}.{hint} {f'{listed_by} lists' if listed_by else 'There are'} all {len(known)}.")
