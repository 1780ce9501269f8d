"""Answers of multiple-choice questions: one or several letters, however they are set off."""

from __future__ import annotations

import re

_LETTERS = re.compile(r"\(?([A-J])\)?|(?:\\text\{)?\(?([A-J](?:[\s,∧]*[A-J]){1,5})\)?\}?")
_LABELLED = re.compile(r"(?:\\text\{)?\s*(?:\(([A-J])\)|([A-J])[.):])\}?\s*(.*)")
_INTRODUCED = re.compile(r"(?:\\text\{)?\s*(?:option|choice|answer)\s*\(?([A-J])\)?\s*\}?", re.IGNORECASE)


def letters(text: str) -> frozenset[str] | None:
    """The letters that a canonical text consists of: B, (B), AC or A, C."""
    found = re.sub(r"[^A-J]", "", text) if _LETTERS.fullmatch(text) else ""
    return frozenset(found) if found and len(set(found)) == len(found) else None  # II is a numeral


def chosen(text: str) -> frozenset[str] | None:
    """As `letters`; and the one letter with which a text such as "(B) 42" or "option B" names the choice."""
    if len(text) == 1 or (len(text) == 3 and text[0] + text[2] == "()"):
        text = text.upper()
    found = letters(text)
    if found:
        return found
    label = _LABELLED.fullmatch(text) or _INTRODUCED.fullmatch(text)
    return frozenset(next(group for group in label.groups() if group)) if label else None


def without_label(text: str) -> str | None:
    """What stands behind the label in "(B) 42"."""
    label = re.fullmatch(r"(?:\\text\{)?\(([A-J])\)\}?\s+(.+)", text)
    return label[2] if label and not letters(label[2]) else None
