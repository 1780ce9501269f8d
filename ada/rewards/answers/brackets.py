"""Brackets in canonical text: what they hold together, whatever their shapes (an interval may open with [ and close with ))."""

from __future__ import annotations

import re
from itertools import accumulate

_BRACKET = re.compile(r"\\[{}]|[()\[\]{}]|\\begin|\\end")
_OPENING = {"(", "[", "{", "\\{", "\\begin"}


def split(text: str, separators: str) -> tuple[list[str], list[str]]:
    """The parts between separators outside brackets, stripped, and the separators."""
    parts, joints, depth, start, position = [], [], 0, 0, 0
    while position < len(text):
        if bracket := _BRACKET.match(text, position):
            depth += 1 if bracket[0] in _OPENING else -1
            position = bracket.end()
            continue
        if depth == 0 and text[position] in separators:
            parts.append(text[start:position].strip())
            joints.append(text[position])
            start = position + 1
        position += 1
    parts.append(text[start:].strip())
    return parts, joints


def depth(text: str) -> int:
    return max(accumulate((1 if bracket[0] in _OPENING else -1 for bracket in _BRACKET.finditer(text)), initial=0))


def closes(text: str) -> bool:
    """Whether the bracket that opens the text closes only at its end."""
    depth = 0
    for bracket in _BRACKET.finditer(text):
        depth += 1 if bracket[0] in _OPENING else -1
        if depth == 0:
            return bracket.end() == len(text)
    return False
