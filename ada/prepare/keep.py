"""Which problems stay, by how often the base model was right: `0 < p <= 0.375`, or `1..2 of 16`."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from ada.recipe.errors import RecipeError

COMPARISONS: dict[str, Callable[[Fraction, Fraction], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
COUNTS = re.compile(r"(\d+)(?:\s*\.\.\s*(\d+))?\s+of\s+(\d+)")
FORMS = "a range of the pass rate p, such as '0 < p <= 0.375' or 'p >= 1/4', or of right answers, such as '1..2 of 16'"


@dataclass(frozen=True)
class Keep:
    """Exact: 6 of 16 is 0.375. A range of p looks at right / judged, one of counts at right answers alone."""

    text: str
    comparisons: tuple[tuple[str, str, str], ...]  # (left, sign, right), where one side is p
    counts: bool

    def __call__(self, right: int, judged: int) -> bool:
        """A problem without a verdict never stays."""
        if not judged:
            return False
        p = Fraction(right, 1 if self.counts else judged)
        return all(COMPARISONS[sign](_number(left, p), _number(other, p)) for left, sign, other in self.comparisons)


def _number(side: str, p: Fraction) -> Fraction:
    return p if side == "p" else Fraction(side)


def read_keep(text: str, draws: int) -> Keep:
    """Raises RecipeError for a rule of another form, and for one that nothing can meet."""
    keep = _counts(text, draws) or _range(text)
    if keep is None:
        raise RecipeError(f"--keep {text!r}: it must be {FORMS}")
    if not any(keep(right, draws) for right in range(draws + 1)):
        raise RecipeError(f"--keep {text!r}: of {draws} responses no number of right ones meets it; it must be {FORMS}")
    return keep


def _counts(text: str, draws: int) -> Keep | None:
    if (found := COUNTS.fullmatch(text.strip())) is None:
        return None
    if int(found[3]) != draws:
        raise RecipeError(f"--keep {text!r}: it speaks of {found[3]} responses, and --draws is {draws}; make them agree")
    return Keep(text, ((found[1], "<=", "p"), ("p", "<=", found[2] or found[1])), counts=True)


def _range(text: str) -> Keep | None:
    parts = [part.strip() for part in re.split(r"(<=|>=|<|>)", text)]
    sides, signs = parts[::2], parts[1::2]
    well_formed = len(signs) in (1, 2) and sides.count("p") == 1 and (len(signs) == 1 or sides[1] == "p")
    if not well_formed or not all(side == "p" or re.fullmatch(r"\d*\.?\d+|\d+/[1-9]\d*", side) for side in sides):
        return None
    return Keep(text, tuple(zip(sides, signs, sides[1:], strict=False)), counts=False)
