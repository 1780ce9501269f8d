"""Formulas beyond the own reader (determinants, products of matrices, a gold answer's sum or product), by math-verify and sympy.

The library is asked last, and within bounds, for what was measured of it (math-verify 0.9, sympy 1.14): its time limits are alarms, which
raise in every thread but the main one; without them `9^{9^9}` and `10^9!` never end; it takes (1,2) for {1,2}, 12 cm^2
for 12 m^2, and 52_8 for 52, so no word, decimal, set, or index may be in what it reads. Here it gets short formulas with small numbers, so
that no single operation is long, and `deadline` ends what is long all together, in any thread.
"""

from __future__ import annotations

import logging
import re
from functools import lru_cache
from math import prod
from typing import Any

from latex2sympy2_extended.latex2sympy2 import latex2sympy
from math_verify import LatexExtractionConfig, parse, verify
from sympy import Expr, MatrixBase

from ada.rewards.answers.brackets import depth
from ada.rewards.answers.deadline import TooLong, within
from ada.rewards.evaluation_guard import formulas_only

CHARACTERS = 160  # of a formula that the library may read
NESTING = 6  # brackets inside one another
SECONDS = 1.2  # for reading and comparing a pair
_POWERS = 10_000  # product of all exponents and of the upper bounds of sums: the digits of a result are at most four times as many
_BEYOND = re.compile(r"\\(?:begin|det|sum|prod)(?![A-Za-z])")  # what the own reader has no word for
_STANDING = ("\\sum", "\\prod")  # of a response: asked for is what they come to
_ADMITTED = re.compile(
    r"(?:\\(?:begin|end)\{[pbvBV]?matrix\}|\\(?:det|sum|prod|pi|frac|binom|sqrt|sin|cos|tan|ln|log|exp|cdot)(?![A-Za-z])|\\\\"
    r"|(?<![A-Za-z])[A-Za-z]{1,2}(?![A-Za-z])|(?<![\d.])\d{1,4}(?!\d)|\^(?:[A-Za-z\d]|\{-?(?:\d{1,3}|[A-Za-z])\})|_\{[\w=]{1,4}\}"
    r"|(?<=\d)!|[-+*/()\[\]{}|& ])++"
)
_EXPONENT = re.compile(r"\^\{?-?(\d+)")
_FACTORIAL = re.compile(r"(\d+)!")

logging.getLogger("math_verify").setLevel(logging.ERROR)  # it warns of the time limits that are off


@lru_cache(maxsize=4096)
def agree(gold: str, response: str) -> bool:
    """Whether sympy finds the two canonical texts equal; False as well for what is not admitted, or takes too long. In any thread."""
    if not _BEYOND.search(gold + response) or any(standing in response for standing in _STANDING):
        return False
    if not (_admitted(gold) and _admitted(response)):
        return False
    try:
        return bool(within(SECONDS, lambda: _equal(_formulas(gold), _formulas(response))))
    except (TooLong, Exception):  # whatever the library stumbles over is not equal
        return False


def parsed(answer: str) -> list[Any]:
    """sympy's objects for an answer in LaTeX, as math-verify reads it, without any time limit; empty where it reads nothing."""
    with formulas_only():  # its LaTeX grammar evaluates no text; should it, only formulas
        return list(parse(f"\\boxed{{{answer}}}", extraction_config=[LatexExtractionConfig(boxed_match_priority=0)], parsing_timeout=None))


def _admitted(text: str) -> bool:
    if len(text) > CHARACTERS or depth(text) > NESTING or not _ADMITTED.fullmatch(text) or ("!" in text and "^" in text):
        return False
    digits_of_factorials = [len(argument) for argument in _FACTORIAL.findall(text)]
    return prod(int(exponent) or 1 for exponent in _EXPONENT.findall(text)) <= _POWERS and max(digits_of_factorials, default=0) <= 3


def _formulas(text: str) -> list[Any]:
    """By the library's grammar alone, without the search that goes before it (which finds `a` in `a d - b c`).

    Without sets and intervals, whose brackets it mixes up, and relations.
    """
    with formulas_only():
        found = latex2sympy(text.replace("*", r"\cdot "), normalization_config=None).doit()
    return [found] if isinstance(found, (Expr, MatrixBase)) else []


def _equal(gold: list[Any], response: list[Any]) -> bool:
    return bool(gold and response) and bool(verify(gold, response, float_rounding=12, numeric_precision=30, timeout_seconds=None))
