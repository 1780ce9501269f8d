"""Keeps a library that evaluates Python from evaluating more than formulas and plain data.

Several scorers of reasoning-gym pass the answer to `eval` or to sympy's parser, which evaluates too. An audit hook of the interpreter
(PEP 578) sees every text before it is compiled, whoever asks; within `formulas_only`, a text that is not made of numbers, plain strings,
operators and the names below is refused.
"""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_CHARACTERS = 20_000
_NAMES = frozenset(
    "Symbol Integer Float Rational Function Add Mul Pow Abs pi E I oo sin cos tan cot sec csc asin acos atan sinh cosh tanh "
    "exp log ln sqrt True False None and or not".split()
)
_TOKEN = re.compile(
    r"\s+|0[xX][0-9A-Fa-f]+|0[bB][01]+"
    r"|(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?(?![\w.])"  # a point stands in a number only: no attribute can be reached
    r"|'[\w +\-*/.,#]*'|\"[\w +\-*/.,#]*\"|(?P<name>[A-Za-z]\w*)|[-+*/%()\[\]{},:=<>&|^~]"
)
_OF_THE_PARSER = "from sympy import *"  # what sympy's parser runs itself
_guarded = threading.local()


class NotAFormula(ValueError):
    """A text that was to be evaluated and is more than a formula or plain data."""


@contextmanager
def formulas_only() -> Iterator[None]:
    """In this thread, until the block ends."""
    _guarded.on = True
    try:
        yield
    finally:
        _guarded.on = False


def is_formula(text: str) -> bool:
    if len(text) > _CHARACTERS:
        return False
    position = 0
    while position < len(text):
        token = _TOKEN.match(text, position)
        if not token or ((name := token["name"]) and len(name) > 1 and name not in _NAMES):
            return False
        position = token.end()
    return True


def _hook(event: str, arguments: tuple[object, ...]) -> None:
    if event == "compile" and getattr(_guarded, "on", False) and isinstance(source := arguments[0], (str, bytes)):
        text = source.decode("utf-8", "replace") if isinstance(source, bytes) else source
        if text != _OF_THE_PARSER and not is_formula(text):
            raise NotAFormula(f"refused to evaluate {text!r:.80}")


sys.addaudithook(_hook)
