"""Whether a response's reading means the same as the gold answer's. The gold answer comes first: it says what form was asked for."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TypeVar

from ada.rewards.answers import units
from ada.rewards.answers.evaluation import Number, Undefined, constants, equal, evaluate, rounded, symbols
from ada.rewards.answers.expression import Node
from ada.rewards.answers.limits import Unreadable
from ada.rewards.answers.meaning import (
    Answer,
    Clock,
    Collection,
    Congruence,
    Equation,
    Inequality,
    Matrix,
    Named,
    Numeral,
    Ratio,
    Solutions,
    Value,
    Words,
)
from ada.rewards.answers.reading import reals_of

LONG_DECIMAL = 6  # places and significant digits from which a decimal stands for the number it is cut or rounded from, as in math-verify
ROUNDED_GOLD = 3  # significant digits from which a gold decimal may be the rounded value of a fraction or root

T = TypeVar("T")

_SHARES = [Fraction(1, 10**9), *(Fraction(n, 11) for n in (1, 3, 5, 8, 10)), 1 - Fraction(1, 10**9)]  # of the way between two ends
_ENDS = 8  # of a set of reals that an inequality is compared with
_PERCENT = ("number", Fraction(1, 100))


def same(gold: Answer, response: Answer) -> bool:
    """False as well where either side goes beyond the bounds of evaluation."""
    try:
        return _same(gold, response)
    except Unreadable:
        return False


def _same(gold: Answer, response: Answer) -> bool:
    match gold, response:
        case Named(), Named() if _same_name(gold.name, response.name) and same(gold.value, response.value):
            return True
        case Named(value=Value() as ours), Named(value=Value() as theirs) if swap := _other_argument(gold.name, response.name):
            renamed = _renamed(theirs.tree, ("symbol", swap[1]), swap[0])
            return swap[0] not in symbols(theirs.tree) and _same(ours, replace(theirs, tree=renamed))
        case Named(value=Value(tree)), Named() | Equation() if not symbols(tree):
            return False  # for x = 5, 2x = 10 is the equation that was to be solved
        case Named(sides=ours) | Equation(sides=ours), Named(sides=theirs) | Equation(sides=theirs):
            return _same_equation(ours, theirs)
        case Named(), _:
            return _same(gold.value, response)
        case Equation(), _:
            return False
        case _, Named():
            return _same(gold, response.value)
        case _, Equation():
            return response.value is not None and _same(gold, response.value)
        case Value(), Value():
            return _same_value(gold, response)
        case Value(), Collection("list" | "set", items):
            return bool(items) and all(_same(gold, item) for item in items)  # {5}; 5, 5
        case Inequality(), Inequality():
            return _all_same(gold.conditions, response.conditions, _same_condition)
        case (Inequality(), Solutions() | Collection()) | (Solutions() | Collection(), Inequality()):
            return _same_solutions(gold, response)
        case Congruence(), Congruence():
            return (gold.residue, gold.modulus) == (response.residue, response.modulus) and _one_name(gold.unknown, response.unknown)
        case Clock(exact=False, terms=(first, second)), Value(tree) if second:  # 7:12 may be a ratio
            return same_formula(("number", Fraction(first, second)), tree)
        case Clock(), Clock():
            day = 1440 if gold.exact and response.exact else 720
            return (gold.minutes - response.minutes) % day == 0
        case (Numeral(), Numeral()) | (Words(), Words()):
            return gold == response
        case Ratio((a, b)), Value(tree):
            return same_formula(("divide", a, b), tree)
        case Ratio(), Ratio():
            return _same_ratio(gold.terms, response.terms)
        case Matrix(), Matrix():
            return _all_same(gold.rows, response.rows, lambda a, b: _all_same(a, b, same))
        case Matrix(rows), Collection("tuple", items) if all(isinstance(item, Collection) for item in items):  # [[1, 2], [3, 4]]
            return _all_same(rows, [_entries(item) for item in items], lambda a, b: _all_same(a, b, same))
        case (Matrix(), Collection("tuple")) | (Collection("tuple"), Matrix()):
            return _all_same(_entries(gold), _entries(response), same)
        case (Value(tree), Matrix() | Collection("tuple") as vector) | (Matrix() | Collection("tuple") as vector, Value(tree)):
            return _same_vector(tree, _entries(vector))
        case Collection("list" | "set"), Collection("named", items, names=names) if _numbered(names):
            return _same_collection(gold, Collection("list", items))
        case (Solutions(), _) | (_, Solutions()):
            return _same_reals(gold, response)
        case Collection(), Collection():
            return _same_collection(gold, response)
    return False


def _same_name(gold: str, response: str) -> bool:
    return gold == response or ("y" in (gold, response) and "(" in gold + response)  # y and f(x)


def _other_argument(gold: str, response: str) -> tuple[str, str] | None:
    """The arguments of f(x) and f(t), where the function is the same and they are two letters."""
    ours, theirs = (re.fullmatch(r"(.+)\(([A-Za-z])\)", name.replace(" ", "")) for name in (gold, response))
    return (ours[2], theirs[2]) if ours and theirs and ours[1] == theirs[1] and ours[2] != theirs[2] else None


def _renamed(node: Node, old: Node, new: str) -> Node:
    """The formula with the symbol `new` for the symbol or constant `old`."""
    if node == old:
        return ("symbol", new)
    return tuple(_renamed(part, old, new) if isinstance(part, tuple) else part for part in node)


def _same_vector(tree: Node, entries: Sequence[Answer]) -> bool:
    """Whether a formula such as 2i - j + k has these two or three components."""
    written = _renamed(tree, ("constant", "i"), "i")
    if not 2 <= len(entries) <= 3 or not symbols(written) & set("ijk"):
        return False
    terms = [("multiply", entry.tree, ("symbol", unit)) for entry, unit in zip(entries, "ijk", strict=False) if isinstance(entry, Value)]
    return len(terms) == len(entries) and same_formula(("add", *terms), written)


def _numbered(names: Sequence[str]) -> bool:
    """x_1, x_2, ...: the roots of an equation, in no order."""
    return [name.replace("{", "").replace("}", "") for name in names] == [f"{names[0][0]}_{n}" for n in range(1, len(names) + 1)]


def _one_name(gold: str, response: str) -> bool:
    return not gold or not response or gold == response


def _same_condition(gold: tuple[Node, bool], response: tuple[Node, bool]) -> bool:
    return gold[1] == response[1] and _proportional(gold[0], response[0], positive=True)


def _same_ratio(gold: Sequence[Node], response: Sequence[Node]) -> bool:
    return _all_same(gold[1:], response[1:], lambda a, b: same_formula(("divide", a, gold[0]), ("divide", b, response[0])))


def _same_reals(gold: Answer, response: Answer) -> bool:
    if isinstance(gold, Solutions) and isinstance(response, Solutions) and len({gold.unknown, response.unknown} - {None}) > 1:
        return False
    ours, theirs = reals_of(gold), reals_of(response)
    return ours is not None and theirs is not None and ours.same(theirs)


def _same_solutions(gold: Answer, response: Answer) -> bool:
    """Whether an inequality in one unknown, such as |x| < 3, holds on a set of reals and nowhere else, as far as it is sampled."""
    inequality, other = (gold, response) if isinstance(gold, Inequality) else (response, gold)
    assert isinstance(inequality, Inequality)
    names, reals = set().union(*(symbols(difference) for difference, _ in inequality.conditions)), reals_of(other)
    if (
        reals is None
        or len(reals.ends) > _ENDS
        or len(names) != 1
        or (isinstance(other, Solutions) and other.unknown not in (None, *names))
    ):
        return False
    return all(_holds(inequality, names, x) == reals.contains(x) for x in _probes(reals.ends))


def _holds(inequality: Inequality, names: Iterable[str], x: Number) -> bool:
    values = {name: x for name in names}
    try:
        found = [(evaluate(difference, values, real=True), strict) for difference, strict in inequality.conditions]
    except Undefined:
        return False
    return all(value > 0 or (value == 0 and not strict) for value, strict in found)


def _probes(ends: Sequence[Number]) -> Iterator[Number]:
    """The ends, points close to them on both sides, between them and far outside."""
    for low, high in zip([rounded(Fraction(-1000)), *ends], [*ends, rounded(Fraction(1000))], strict=True):
        yield from (low + (high - low) * rounded(share) for share in _SHARES if low < high)
    yield from ends


def _same_collection(gold: Collection, response: Collection) -> bool:
    if gold.kind == "named" and response.kind == "named":
        return gold.names == response.names and _all_same(gold.items, response.items, same)
    ordered = {"tuple", "named"}
    if gold.kind in ordered or response.kind in ordered:
        if "set" in (gold.kind, response.kind) or not _brackets_agree(gold, response):
            return False
        return _all_same(gold.items, response.items, same)
    return _covered(gold.items, response.items) and _covered(response.items, gold.items, turned=True)


def _brackets_agree(gold: Collection, response: Collection) -> bool:
    """Of two components, brackets are those of an interval, and matter; of more they are a matter of taste."""
    return len(gold.items) != 2 or (gold.brackets or "()") == (response.brackets or "()")


def _covered(items: Sequence[Answer], others: Sequence[Answer], turned: bool = False) -> bool:
    return all(any(same(b, a) if turned else same(a, b) for b in others) for a in items)


def _all_same(gold: Sequence[T], response: Sequence[T], agree: Callable[[T, T], bool]) -> bool:
    return len(gold) == len(response) and all(agree(a, b) for a, b in zip(gold, response, strict=True))


def _entries(answer: Answer) -> Sequence[Answer]:
    """The components of a tuple, or of a matrix of one row or column; of any other matrix, none."""
    match answer:
        case Collection(_, items):
            return items
        case Matrix(rows) if len(rows) == 1 or len(rows[0]) == 1:
            return [cell for row in rows for cell in row]
    return []


def _same_value(gold: Value, response: Value) -> bool:
    return any(_same_number(a, b) for a, b in _in_one_unit(gold, response))


def _in_one_unit(gold: Value, response: Value) -> Iterator[tuple[Value, Value]]:
    """The pairs of plain values whose equality makes the two quantities the same. A unit or % that one side leaves out is implied."""
    if gold.percent or response.percent:
        yield from _percentages(gold, response) if not (gold.unit or response.unit) else ()
    elif gold.unit and response.unit and gold.unit.kind and response.unit.kind:
        if gold.unit.kind == response.unit.kind:
            yield gold, _scaled(response, ("number", response.unit.factor / gold.unit.factor))
    else:
        yield gold, response
        if response.unit == units.CENT and not gold.unit:  # 75 cents for 0.75
            yield gold, _scaled(response, _PERCENT)
        degree = ("degrees", ("number", Fraction(1)))
        if gold.unit == units.DEGREE and "pi" in constants(response.tree):
            yield _scaled(gold, degree), response
        if response.unit == units.DEGREE and "pi" in constants(gold.tree):
            yield gold, _scaled(response, degree)


def _percentages(gold: Value, response: Value) -> Iterator[tuple[Value, Value]]:
    if gold.percent == response.percent:
        yield gold, response
    elif gold.percent:
        yield gold, response
        yield _scaled(gold, _PERCENT), response
    else:
        yield gold, _scaled(response, _PERCENT)
        if not symbols(gold.tree) and not constants(gold.tree) and evaluate(gold.tree, {}, real=True) > 1:
            yield gold, response  # 28% for 28; but 0.28% is not 0.28


def _scaled(value: Value, factor: Node) -> Value:
    return value if factor == ("number", 1) else Value(("multiply", value.tree, factor))


def _same_number(gold: Value, response: Value) -> bool:
    if same_formula(gold.tree, response.tree):
        return True
    if gold.places == response.places or symbols(gold.tree) or symbols(response.tree):
        return False
    exact = evaluate(gold.tree, {}, real=True)
    given = evaluate(response.tree, {}, real=True)
    both_exact = isinstance(exact, Fraction) and isinstance(given, Fraction)
    distance = abs(exact - given if both_exact else rounded(exact) - rounded(given))
    if gold.places is None and response.places is not None:  # 0.0833333333 for 1/12
        long = min(response.places, response.digits) >= LONG_DECIMAL
        return long and distance * 10**response.places < 1
    if gold.places is not None and response.places is None:  # 100/3 for 33.3, but 1001/30 is another number
        repeating = not isinstance(given, Fraction) or _has_other_primes(given.denominator)
        inexact = gold.digits >= ROUNDED_GOLD and exact * 10**gold.places % 10 != 0
        return repeating and inexact and 2 * distance * 10**gold.places <= 1
    return False


def _has_other_primes(n: int) -> bool:
    return pow(10, n.bit_length(), n) != 0


def _same_equation(gold: tuple[Node, Node] | None, response: tuple[Node, Node] | None) -> bool:
    if not gold or not response or not symbols(gold[0]) | symbols(gold[1]):
        return False
    return _proportional(_difference(gold), _difference(response), positive=False)


def _difference(sides: tuple[Node, Node]) -> Node:
    return ("add", sides[0], ("negative", sides[1]))


def same_formula(gold: Node, response: Node) -> bool:
    """Equal exactly, or at every sampled point at which both are defined (and at two at least)."""
    return _agree(gold, response, lambda pairs: all(equal(a, b) for a, b in pairs))


def _proportional(gold: Node, response: Node, positive: bool) -> bool:
    def constant_ratio(pairs: list[tuple[Number, Number]]) -> bool:
        if any((a == 0) != (b == 0) for a, b in pairs):
            return False
        ratios = [rounded(a) / rounded(b) for a, b in pairs if b != 0]
        return bool(ratios) and all(equal(ratio, ratios[0]) for ratio in ratios) and (not positive or ratios[0] > 0)

    return _agree(gold, response, constant_ratio, ordered=positive)


def _agree(gold: Node, response: Node, test: Callable[[list[tuple[Number, Number]]], bool], ordered: bool = False) -> bool:
    """`ordered`: the values are compared by size, so they must be real."""
    names = sorted(symbols(gold) | symbols(response))
    real = ordered or (bool(names) and "i" not in constants(gold) | constants(response))
    if not names:
        return test([(evaluate(gold, {}, real), evaluate(response, {}, real))])
    pairs = []
    for values in _points(names):
        try:
            pairs.append((evaluate(gold, values, real), evaluate(response, values, real)))
        except Undefined:
            continue
        if len(pairs) == 1 and not test(pairs):
            return False  # most wrong answers end here
    return len(pairs) > 1 and test(pairs)


def _points(names: Sequence[str]) -> Iterable[dict[str, Fraction]]:
    """Small, large, negative and whole values, in rising and falling order: each of them lies in the domain of some formula."""
    n = len(names)
    rising = [Fraction(3 * k + 2, 7 * n + 5) for k in range(n)]  # between 0 and 1
    for row in (
        rising,
        [7 * x + Fraction(2, 3) for x in rising],
        [(-1) ** k * (x + Fraction(1, 9)) for k, x in enumerate(rising, 1)],
        [-5 * x for x in reversed(rising)],
        [Fraction(3 + 2 * k) for k in range(n)],
        [Fraction(2 + 3 * (n - k)) for k in range(n)],
        [Fraction(8 + k * k) for k in range(n)],
    ):
        yield dict(zip(names, row, strict=True))
