"""Notations that look like formulas and are not: numerals in a base, times of day, ratios, congruences, sets in words or by name."""

from __future__ import annotations

import re
from fractions import Fraction

from ada.rewards.answers.brackets import split
from ada.rewards.answers.evaluation import context, evaluate, symbols
from ada.rewards.answers.expression import Node, read_expression
from ada.rewards.answers.limits import ITEMS, Unreadable
from ada.rewards.answers.meaning import Answer, Clock, Collection, Congruence, Numeral, Ratio, Solutions
from ada.rewards.answers.reals import everything, interval, points
from ada.rewards.answers.spelling import words

_BASES = {name: n for n, name in enumerate("zero one two three four five six seven eight nine ten eleven twelve".split())} | {"sixteen": 16}
_NUMERAL = re.compile(r"(-?)\(?([0-9A-Za-z]*\d[0-9A-Za-z]*)\)?_\{?(?:base)?(\d{1,2}|(?:\\text\{)?[a-z]+\}?)\}?")
_CLOCK = re.compile(r"(\d{1,2}):([0-5]\d)(?:\\text\{)?([ap])?\.?m?\.?\}?", re.IGNORECASE)
_CONGRUENCE = re.compile(r"(?:([^≡]+)≡)?([^≡]+?)\(?\\(?:pmod|mod|bmod)\s*(?:\{([^{}]+)\}|([^{})]+))\)?")
_INDEX = r"\s*\{?\s*(\d{1,4}|[A-Za-z]|[A-Za-z0-9+-]{2,7}(?=\}))\s*\}?"
_BINOMIALS = [
    re.compile(rf"(?<![A-Za-z\\]){pattern}")
    for pattern in (
        r"C\s*\(([^(),]{1,9}),([^(),]{1,9})\)",
        rf"(?:\{{\s*\}}\s*)?[_^]{_INDEX}\s*(?:C|\\text\{{C\}})\s*_{_INDEX}",
        rf"C_{_INDEX}\s*\^{_INDEX}",
    )
]
_ALL_REALS = {"all real numbers", "all reals", "real numbers", "all real x", "all real values"}
_NO_SOLUTION = re.compile(r"(?:there (?:are|is) )?no (?:real )?solutions?|(?:the )?empty set")
_HALF_LINES = {  # by sign, and whether 0 is in it
    (1, False): (r"\R^+", r"\R^{+}", r"\R_+", r"\R_{+}", r"\R_{>0}", "positive real numbers", "positive reals"),
    (-1, False): (r"\R^-", r"\R^{-}", r"\R_-", r"\R_{-}", r"\R_{<0}", "negative real numbers", "negative reals"),
    (1, True): (r"\R_{≥0}", r"\R^{≥0}", "nonnegative real numbers", "non-negative real numbers", "nonnegative reals"),
}
_HALF_LINE = {name: half for half, names in _HALF_LINES.items() for name in names}
_BOUNDED = re.compile(r"(?:all )?real(?: number)?s (greater|less) than( or equal to)? (-?\d+)")
_EXCEPT = re.compile(r"(?:all )?real(?: number)?s(?: x)? except(?: for)? (?:x ?= ?)?(-?\d+)")


def notation(text: str) -> Answer | None:
    """What a canonical text says in one of these notations; None where it uses none. Raises Unreadable."""
    dense = re.sub(r"\\text\{([^{}]*)\}", r"\1", text).replace(" ", "")
    if numeral := _NUMERAL.fullmatch(dense):
        base = re.sub(r"\\text|[{}]", "", numeral[3])
        if base.isdigit() or base in _BASES:
            return Numeral(numeral[1] + numeral[2].upper(), int(base) if base.isdigit() else _BASES[base])
    if clock := _CLOCK.fullmatch(dense):
        return _clock(int(clock[1]), int(clock[2]), (clock[3] or "").lower())
    if ("≡" in text or "\\pmod" in text) and (found := _CONGRUENCE.fullmatch(text)):
        modulus = _integer(found[3] or found[4])
        if modulus < 1:
            raise Unreadable("a modulus below 1")
        return Congruence((found[1] or "").strip(), _integer(found[2]) % modulus, modulus)
    terms, _ = split(text, ":")
    if 1 < len(terms) < 6:
        return Ratio(tuple(read_expression(term) for term in terms))
    return _reals(words(text), dense)


def with_binomials(text: str) -> str:
    """C(n, k), {}_n C_k, {}^n C_k and C_n^k as binomial coefficients; they may mean other things too."""
    for pattern in _BINOMIALS:
        text = pattern.sub(r"\\binom{\1}{\2}", text)
    return text


def expanded(parts: list[str]) -> list[str]:
    """1, 2, …, 10 written out, as far as it is an arithmetic progression of integers. Raises Unreadable for other dots."""
    if "…" not in parts:
        return parts
    place = parts.index("…")
    try:
        before, after = [int(part) for part in parts[:place]], [int(part) for part in parts[place + 1 :]]
        step = before[1] - before[0]
        middle = list(range(before[-1] + step, after[0], step))
    except (ValueError, IndexError):
        raise Unreadable("dots that do not say what they stand for") from None
    whole = [*before, *middle, *after]
    if len(whole) > ITEMS or any(b - a != step for a, b in zip(whole, whole[1:], strict=False)):
        raise Unreadable("dots in what is no progression, or a long one")
    return [str(number) for number in whole]


def _integer(text: str) -> int:
    tree: Node = read_expression(text)
    value = None if symbols(tree) else evaluate(tree, {}, real=True)
    if not isinstance(value, Fraction) or value.denominator != 1:
        raise Unreadable("a residue or modulus that is no integer")
    return int(value)


def _clock(hours: int, minutes: int, half: str) -> Clock:
    if half or hours > 12:
        return Clock((hours % 12 + 12 * (half == "p") if half else hours) * 60 + minutes, True, (hours, minutes))
    return Clock(hours % 12 * 60 + minutes, False, (hours, minutes))


def _reals(spoken: str, dense: str) -> Answer | None:
    if spoken in _ALL_REALS:
        return Solutions(everything())
    if half := _HALF_LINE.get(dense) or _HALF_LINE.get(spoken.removeprefix("all ")):
        (sign, closed), mp = half, context()
        return Solutions(interval(mp.zero, closed, mp.inf, False) if sign > 0 else interval(mp.ninf, False, mp.zero, closed))
    if bounded := _BOUNDED.fullmatch(spoken):
        mp, bound, closed = context(), context().mpf(int(bounded[3])), bool(bounded[2])
        return Solutions(interval(bound, closed, mp.inf, False) if bounded[1] == "greater" else interval(mp.ninf, False, bound, closed))
    if all_but := _EXCEPT.fullmatch(spoken):
        return Solutions(points([context().mpf(int(all_but[1]))]).complement())
    return Collection("set", (), "{}") if _NO_SOLUTION.fullmatch(spoken) else None
