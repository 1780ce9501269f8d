"""Rewards for the form of a response: does it match a regular expression?"""

from __future__ import annotations

import re
from functools import cache


def score(response: str, answer: str, *, pattern: str) -> float:
    """1.0 where the whole response matches `pattern`, in which a dot is any character, line breaks too; else 0.0.

    Example: "<think>.*</think>.*\\\\boxed\\{.*". Nested repetition can take forever on some responses; the worker's time limit ends it.
    """
    return float(_compiled(pattern).fullmatch(response) is not None)


def ready(*, pattern: str) -> None:
    """Raises ValueError for a pattern that is no regular expression."""
    _compiled(pattern)


def gold_response(answer: str) -> None:
    """A gold answer says nothing about the form."""


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern, re.DOTALL)
    except re.error as error:
        raise ValueError(f"pattern = {pattern!r} is no regular expression: {error}") from None
