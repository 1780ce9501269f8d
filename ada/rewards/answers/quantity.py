"""A formula with what may stand around it: a currency, a percent sign, degrees, a unit, a multiplier such as "million"."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

from ada.rewards.answers import units
from ada.rewards.answers.expression import FUNCTIONS, Node, read_expression
from ada.rewards.answers.limits import Unreadable
from ada.rewards.answers.meaning import Value
from ada.rewards.answers.units import Unit

_DECIMAL = re.compile(r"[+-]?\d*\.(\d+)")
_SHORT_WORDS = {"of", "in", "to", "at", "on", "a", "an", "by"}
_HEDGE = re.compile(r"\b(?:or|not|maybe|perhaps|unless|if|wrong|incorrect)\b", re.IGNORECASE)
_BARE_UNIT = re.compile(r"(?P<value>.*?(?:[\d})°.]|\\pi))(?P<space>\s*)(?P<unit>[A-Za-z]++(?:\s*+(?:[/*]|\^\s*\{?-?\d\}?|[A-Za-z]++))*+)")


def quantity(text: str, tight: bool) -> Value:
    if not text:
        raise Unreadable("nothing there")
    if text[0] in "+-" and text[1:].lstrip()[:1] in units.CURRENCY:  # -$5
        text = text[1:].lstrip()[0] + text[0] + text[1:].lstrip()[1:]
    currency = units.CURRENCY.get(text[0])
    if currency:
        amount = text[1:].strip()
        if amount[:1] in units.CURRENCY:
            raise Unreadable("two currencies")
        return replace(quantity(amount, tight), unit=currency)
    if text[-1] in units.CURRENCY:
        return replace(_formula(text[:-1].strip(), tight), unit=units.CURRENCY[text[-1]])
    if percentage := re.fullmatch(r"(.*)%\s*((?:\\text\{[^{}]*\}\s*)*)", text):  # words, as in 20% increase, say what it is a share of
        if _HEDGE.search(percentage[2]):
            raise Unreadable("words that take the value back")
        return replace(_formula(percentage[1].strip(), tight), percent=True)
    if angle := re.fullmatch(r"(\d+)°\s*(\d+)'(?:\s*(\d+)'')?", text):
        degrees_, minutes, seconds = (Fraction(part or 0) for part in angle.groups())
        return Value(("number", degrees_ + minutes / 60 + seconds / 3600), unit=units.DEGREE)
    if degrees := re.fullmatch(r"(.*)°\s*((?:\\text\{)?[CFK]\}?)?", text):
        tree = tree_of(degrees[1].strip(), tight)
        if tree and not any(name in degrees[1] for name in FUNCTIONS):  # of \cos 36° the degrees are the argument's
            unit = units.DEGREE if not degrees[2] else Unit("°" + degrees[2].strip("\\tex{}"))
            return replace(_formula(degrees[1].strip(), tight), unit=unit)
    start = _first_words(text)
    if start:
        return _with_unit(_formula(text[:start].strip(), tight), text[start:])
    bare = _BARE_UNIT.fullmatch(text)
    if bare and _is_unit(bare["unit"], single_letters=False):
        return _with_unit(_formula(bare["value"], tight), bare["unit"])
    try:
        return _formula(text, tight)
    except Unreadable:
        if bare and bare["space"] and not _mathematical(bare["unit"]):
            return _with_unit(_formula(bare["value"], tight), bare["unit"])
        raise


def quantity_in_letters(text: str) -> Iterator[Value]:
    """5m as five metres, 5 mangos as five mangos: readings in which letters without \\text are no factors; 2\\pi hr, in which they are."""
    bare = _BARE_UNIT.fullmatch(text)
    if bare and (tree := tree_of(text, False)):
        yield Value(tree)
    if bare and (_is_unit(bare["unit"], single_letters=True) or (bare["space"] and not _mathematical(bare["unit"]))):
        try:
            yield _with_unit(_formula(bare["value"], False), bare["unit"])
        except Unreadable:
            return


def tree_of(text: str, tight: bool) -> Node | None:
    try:
        return read_expression(text, tight)
    except Unreadable:
        return None


def _is_unit(text: str, single_letters: bool) -> bool:
    return units.read_unit(text) is not None and (single_letters or len(re.split(r"[^A-Za-z]", text)[0]) > 1)


def _mathematical(text: str) -> bool:
    names = re.findall(r"[A-Za-z]+", text)
    names = [name for name in names if name not in _SHORT_WORDS]
    return not names or any(name in FUNCTIONS or len(name) < 3 or name in ("pi", "theta", "alpha") for name in names)


def _first_words(text: str) -> int:
    """Where \\text{...} begins that goes on, with powers and slashes, to the end; 0 if there is none after a value."""
    found = re.search(r"\\text\{[^{}]*+\}(?:\s*+(?:\\text\{[^{}]*+\}|[/*.°-]|\^\s*\{?-?\d\}?|[A-Za-z]++))*+$", text)
    return found.start() if found else 0


def _with_unit(value: Value, text: str) -> Value:
    text = re.sub(r"\\text\s*\{([^{}]*)\}", r"\1 ", text).strip(" ()")
    if _HEDGE.search(text):
        raise Unreadable("words that take the value back")
    first, _, rest = text.partition(" ")
    if first.casefold() in units.MULTIPLIERS:
        tree: Node = ("multiply", value.tree, ("number", Fraction(units.MULTIPLIERS[first.casefold()])))
        value, text = replace(value, tree=tree, places=None), rest.strip()
    if not text:
        return value
    known = units.read_unit(text) or _leading_unit(text)
    if known == units.RADIAN:
        return value
    return replace(value, unit=known or units.counted(text))


def _leading_unit(text: str) -> Unit | None:
    """The unit at the start of words such as "miles away", where it is more than an abbreviation."""
    name = text.split()[0]
    return units.read_unit(name) if name.isalpha() and len(name) > 2 else None


def _formula(text: str, tight: bool) -> Value:
    tree = read_expression(text, tight)
    decimal = _DECIMAL.fullmatch(text.replace(" ", ""))
    if not decimal:
        return Value(tree)
    return Value(tree, places=len(decimal[1]), digits=len(re.sub(r"[+.-]", "", text).lstrip("0")))
