"""A problem's text without what does not change the problem: two texts of one normal form are the same problem."""

from __future__ import annotations

import re
import unicodedata

_SPACING = re.compile(r"\\(?:[,;:!> ]|quad\b|qquad\b|left\b|right\b|displaystyle\b|limits\b)|[$~]")
_SPELLINGS = ((re.compile(r"\\[dt]frac\b"), r"\\frac"), (re.compile(r"\\(?:[()\[\]])"), " "))
_TOKENS = re.compile(r"\\?\w+|[^\w\s]")


def tokens(problem: str) -> list[str]:
    """Words, numbers and signs, without letter case, spacing, LaTeX's marks of formulas and spacing, and the last full stop."""
    text = unicodedata.normalize("NFKC", problem).casefold()
    for pattern, spelling in _SPELLINGS:
        text = pattern.sub(spelling, text)
    found = _TOKENS.findall(_SPACING.sub(" ", text))
    while len(found) > 1 and found[-1] in (".", "?", "!", ":"):
        found.pop()
    return found


def normal_form(problem: str) -> str:
    return " ".join(tokens(problem))
