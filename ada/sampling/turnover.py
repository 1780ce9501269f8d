"""Where the prompts went that were open before a step, or were opened in it. None may be lost, and none counted twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Turnover:
    before: int  # open prompts when the step began
    opened: int  # in it
    trained: int  # are the step's
    dropped: int  # open for too long
    still_open: int  # after it


def turnover(
    before: Iterable[str], opened: Iterable[str], trained: Iterable[str], dropped: Iterable[str], still_open: Iterable[str]
) -> Turnover:
    """Of prompt ids. Raises RuntimeError where it fails to add up, or a prompt is in two places: a fault of the program."""
    came = Counter((*before, *opened))
    ins, outs = [Counter(before), Counter(opened)], [Counter(trained), Counter(dropped), Counter(still_open)]
    entry = Turnover(*(ids.total() for ids in (*ins, *outs)))
    kept_open = Counter(trained) + Counter(still_open)
    if came != outs[0] + outs[1] + outs[2] or (kept_open and max(kept_open.values()) > 1):
        raise RuntimeError(f"open prompts were lost or counted twice: {entry}. This is a fault of ada: please report it with the recipe")
    return entry
