"""What an answer's text means: `read` gives its readings, best first. Text with none of a formula's shape is read as words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache, reduce
from itertools import combinations, product

from ada.rewards.answers.brackets import closes, depth, split
from ada.rewards.answers.evaluation import Number, evaluate, rounded, symbols
from ada.rewards.answers.expression import FUNCTIONS, Node, read_expression
from ada.rewards.answers.limits import ANSWER_CHARACTERS, ITEMS, NESTING, PLUS_MINUS, Unreadable
from ada.rewards.answers.meaning import (
    Answer,
    Collection,
    Equation,
    Inequality,
    Matrix,
    Named,
    Solutions,
    Value,
    Words,
)
from ada.rewards.answers.notations import expanded, notation, with_binomials
from ada.rewards.answers.number_words import with_digits
from ada.rewards.answers.quantity import quantity, quantity_in_letters, tree_of
from ada.rewards.answers.reals import Reals, everything, interval, points
from ada.rewards.answers.spelling import joined_thousands, words

_RELATIONS = "=≤≥<>≠≈∈"
_SEPARATORS = ",;∧∨"
_FRENCH_INTERVAL = re.compile(r"([\[\]])([^\[\](),∪]+,[^\[\](),∪]+)([\[\]])")
_SIDES = 20
_APPROXIMATION = 0.05  # how far, relatively, the two sides of ≈ may be apart
_MATRIX = re.compile(
    r"(?P<factor>[^&]*?)\*?\s*[(\[]?\\begin\{(?:[pbB]?(?:small)?matrix|array)\}(?:\{[lcr| ]*\})?(?P<inside>.*)\\end\{\w+\}[)\]]?"
    r"(?P<turned>\^\{?\s*(?:T|\\top)\s*\}?)?",
    re.DOTALL,
)
_INTEGERS = re.compile(r"\(?[a-z]\)?\s*∈\s*(?:\\mathbb\s*\{?\s*Z\s*\}?|Z)|[a-z]\s*\\text\{\s*(?:is )?(?:an )?integer\s*\}")
_INDEX = r"(?:_(?:\w|\{[^{}]*\}|\\[a-z]+))?'*"
_LABEL = re.compile(
    "|".join(
        [
            rf"(?:[A-Za-z]|\\[A-Za-z]+){_INDEX}",  # x, a_1, \theta
            rf"(?:[A-Za-z]|\\[A-Za-z]+(?:\{{\w\}})?\s?){_INDEX}(?:\([^()=]{{1,20}}\)|\[[^\[\]=]{{1,20}}\])",  # f(x), \Pr[A]
            r"[A-Z]{2,5}|\|[A-Z]{2}\||(?:\\angle|∠)(?:\s*[A-Za-z](?:_\{?\w\}?)?'?)+",  # AB, |AB|, \angle ABC
            r"(?:\\(?:text|overline|vec|mathbf|mathbb)\{[^{}]*\}\s*)+",
            r"\((?:[A-Za-z](?:_\w)?,?\s*)+\)",  # (x, y)
            r"\\frac\s*\{\s*d[^{}]*\}\s*\{\s*d[^{}]*\}",  # dy/dt
        ]
    )
)
_FORMULA_SIGN = re.compile(r"[=<>≤≥≠≈∈∪∖+*/^_\\{}|\[\]∞°%±]|(?<![a-z]{2})-|-(?![a-z]{2})")
_SENTENCE = re.compile(r"[^\d,;∧∨]*[A-Za-z]{2}[\s}]+(?:\\text\{)?[A-Za-z]{2}[^\d,;∧∨]*")
_WORD = re.compile(r"[A-Za-z]{2}|[^\W\d_A-Za-z]")


@lru_cache(maxsize=8192)
def read(text: str, lenient: bool) -> tuple[Answer, ...]:
    """The readings of a canonical text. `lenient` adds those that a response may have as well: 5m as metres, 1/2x as 1/(2x),
    60,120 as a list, log as the decadic logarithm."""
    if len(text) > ANSWER_CHARACTERS or depth(text) > NESTING:
        return ()
    text = _FRENCH_INTERVAL.sub(_english_interval, text)
    number = joined_thousands(text)
    readings: list[Answer] = []
    spoken = _spoken(text)
    if spoken and (counted := with_digits(spoken.text)):
        readings += _readable(counted)
    if spoken and _SENTENCE.fullmatch(text):
        return (*readings, notation(text) or spoken)
    decadic = re.sub(r"\\log(?![A-Za-z]|\s*_)", r"\\lg", number)
    variants = [(number, False), (number, True), (text, False), (decadic, False), (with_binomials(text), False)]
    for variant, tight in dict.fromkeys(variants[: None if lenient else 1]):
        readings += _readable(variant, tight)
    if lenient:
        readings += quantity_in_letters(number)
    if spoken:
        readings.append(spoken)
    return tuple(dict.fromkeys(readings))


def _readable(text: str, tight: bool = False) -> list[Answer]:
    try:
        return [_read(text, tight)]
    except Unreadable:
        return []


def _read(text: str, tight: bool) -> Answer:
    parts, joints = split(text, _SEPARATORS)
    if len(parts) == 2 and _INTEGERS.fullmatch(parts[1]):  # x = k \pi, k \in \mathbb{Z}
        parts = parts[:1]
    if len(parts) == 1:
        return _part(parts[0], tight)
    if len(parts) > ITEMS:
        raise Unreadable(f"{len(parts)} items; {ITEMS} are read")
    items = [_part(part, tight) for part in expanded([part for part in parts if part])]
    solutions = [solution for item in items if (solution := _as_solutions(item))]
    if len(solutions) == len(items) and any(isinstance(item, Solutions) for item in items):
        return _combined(solutions, joints)
    return _collected(items, "list", "")


def _as_solutions(item: Answer) -> Solutions | None:
    """x = 1 among inequalities is a point."""
    if isinstance(item, Named) and isinstance(item.value, Value) and not symbols(item.value.tree):
        return Solutions(points([constant(item.value.tree)]), item.name)
    return item if isinstance(item, Solutions) else None


def _english_interval(found: re.Match[str]) -> str:
    """]0, 1[ becomes (0, 1)."""
    return ("(" if found[1] == "]" else "[") + found[2] + (")" if found[3] == "[" else "]")


def _part(text: str, tight: bool) -> Answer:
    """One item: no separator stands outside its brackets."""
    text = text.strip()
    if text.startswith("{") and closes(text):
        text = text[1:-1].strip()
        if len(split(text, _SEPARATORS)[0]) > 1:
            return _read(text, tight)
    if not text:
        raise Unreadable("nothing there")
    if "±" in text and not text.startswith("\\{"):
        signs = [_part(variant, tight) for variant in _with_signs(text)]
        if all(isinstance(item, Named) for item in signs):
            name = next(item.name for item in signs if isinstance(item, Named))
            return Named(name, _collected(signs, "list", ""))
        return _collected(signs, "list", "")
    sides, signs_between = split(text, _RELATIONS)
    if len(sides) > 1:
        return _relation(sides, signs_between, tight)
    if matrix := _MATRIX.fullmatch(text):
        return _matrix(matrix["inside"], matrix["factor"].strip(), bool(matrix["turned"]), tight)
    if any(sign in text for sign in "∪∖") and len(split(text, "∪∖")[0]) > 1:
        return _set_operation(*split(text, "∪∖"), tight)
    try:
        return _bracketed(text, tight) or notation(text) or quantity(text, tight)
    except Unreadable:
        if spoken := _spoken(text):
            return spoken
        raise


def _spoken(text: str) -> Words | None:
    plain = re.sub(r"\\text\{([^{}]*)\}", r"\1", text)
    return Words(words(text)) if _WORD.search(plain) and not _FORMULA_SIGN.search(plain) else None


def _bracketed(text: str, tight: bool) -> Answer | None:
    if point := re.fullmatch(r"[A-Z]'?\s*(\(.*\))", text):  # A(2, -1)
        text = point[1] if len(split(point[1][1:-1], ",;")[0]) > 1 else text
    if text in ("∅", "\\{\\}", "\\{ \\}"):
        return Collection("set", (), "{}")
    if text.strip() == "\\R":
        return Solutions(everything())
    if text.startswith("\\{") and text.endswith("\\}") and closes(text):
        return _set(text[2:-2].strip(), tight)
    if not (text[0] in "([" and text[-1] in ")]" and closes(text)):
        return None
    parts, _ = split(text[1:-1], ",;")
    if len(parts) < 2 or len(parts) > ITEMS:
        return None
    return Collection("tuple", tuple(_part(part, tight) for part in parts), text[0] + text[-1])


def _set(inside: str, tight: bool) -> Answer:
    builder = re.fullmatch(r"\s*[^|:,]{1,20}?\s*[|:]\s*(.+)", inside)  # {x : x > 3}
    if builder and any(sign in builder[1] for sign in _RELATIONS):
        return _read(builder[1], tight)
    parts, _ = split(inside, ",;∧")
    if len(parts) > ITEMS:
        raise Unreadable("too many elements")
    return _collected([_part(part, tight) for part in expanded([part for part in parts if part])], "set", "{}")


def _collected(items: list[Answer], kind: str, brackets: str) -> Answer:
    """The items as one answer: names go where they are the same for all, nested lists (±) are opened."""
    flat: list[Answer] = []
    for item in items:
        inner = item.value if isinstance(item, Named) and isinstance(item.value, Collection) else item
        if isinstance(inner, Collection) and inner.kind == "list":
            flat += [Named(item.name, part) for part in inner.items] if isinstance(item, Named) else inner.items
        else:
            flat.append(item)
    named = [item for item in flat if isinstance(item, Named)]
    names = [item.name for item in named]
    if names and len(names) == len(flat) == len(set(names)) > 1:
        ordered = sorted(named, key=lambda item: item.name)
        return Collection("named", tuple(item.value for item in ordered), "", tuple(item.name for item in ordered))
    if names and len(set(names)) == 1 and isinstance(flat[0], Named):
        flat = [item.value if isinstance(item, Named) else item for item in flat]
    if len(flat) == 1 and kind == "list":
        return flat[0]
    return Collection(kind, tuple(flat), brackets)


def _combined(items: list[Solutions], joints: list[str]) -> Solutions:
    """`or` unites; `and` and commas intersect, unless nothing is left."""
    unknown = items[0].unknown
    union = common = items[0].reals
    for item in items[1:]:
        union, common = union.union(item.reals), common.intersection(item.reals)
    return Solutions(common if "∨" not in joints and common.intervals else union, unknown)


def _set_operation(parts: list[str], operators: list[str], tight: bool) -> Answer:
    reals = _as_reals(_part(parts[0], tight))
    for operator, part in zip(operators, parts[1:], strict=True):
        other = _as_reals(_part(part, tight))
        reals = reals.union(other) if operator == "∪" else reals.intersection(other.complement())
    return Solutions(reals)


def _as_reals(answer: Answer) -> Reals:
    found = reals_of(answer)
    if found is None:
        raise Unreadable("no set of real numbers")
    return found


def reals_of(answer: Answer) -> Reals | None:
    """The set of reals that a pair of brackets, a finite set or solutions stand for; None for other answers."""
    try:
        match answer:
            case Solutions(reals):
                return reals
            case Collection("tuple", (Value(low), Value(high)), brackets):
                return interval(constant(low), brackets[0] == "[", constant(high), brackets[1] == "]")
            case Collection("set", items):
                return points([constant(item.tree) for item in items if isinstance(item, Value)])
            case Collection("list", items) if items and all(isinstance(item, Collection) and item.kind == "tuple" for item in items):
                pieces = [_as_reals(item) for item in items]  # (1, 2), (3, 4)
                return reduce(Reals.union, pieces)
    except Unreadable:
        pass
    return None


def constant(tree: Node) -> Number:
    if symbols(tree):
        raise Unreadable("no constant")
    return rounded(evaluate(tree, {}, real=True))


def _number(tree: Node) -> Number:
    """Of a tree without symbols; it may be complex."""
    return rounded(evaluate(tree, {}, real=False))


def _relation(sides: list[str], signs: list[str], tight: bool) -> Answer:
    if len(sides) > _SIDES:
        raise Unreadable(f"{len(sides)} sides of a relation; {_SIDES} are read")
    if not sides[0]:  # ≈ 8.24
        if signs[0] not in "≈=":
            raise Unreadable("a relation without a left side")
        return _read("".join(side + sign for side, sign in zip(sides[1:], [*signs[1:], ""], strict=True)), tight)
    if signs[0] == "∈" and len(signs) == 1:
        return Named(sides[0].strip(), _read(sides[1], tight))
    if set(signs) <= set("=≈"):
        return _equality(sides, signs, tight)
    if set(signs) <= set("<>≤≥≠"):
        return _inequality(sides, signs, tight)
    raise Unreadable("relations of several kinds")


def _equality(sides: list[str], signs: list[str], tight: bool) -> Answer:
    exact = [side for side, sign in zip(sides, ["=", *signs], strict=True) if sign == "="]  # what is after ≈ adds nothing
    if len(exact) == 1:
        exact = sides[:1] if not _LABEL.fullmatch(sides[0].strip()) else [sides[0], sides[1]]
    roughly = [_number(tree) for side in sides if (tree := tree_of(side, tight)) and not symbols(tree)]
    if any(abs(a - b) > _APPROXIMATION * max(abs(a), abs(b)) for a, b in combinations(roughly, 2)):
        raise Unreadable("sides that are far from equal")
    left, right = exact[0].strip(), exact[-1].strip()
    trees = [tree_of(side, tight) for side in exact]
    known = [tree for tree in trees if tree and not symbols(tree)]
    values = [(_number(tree), _half_place(side)) for tree, side in zip(trees, exact, strict=True) if tree in known and tree is not None]
    if any(abs(value - values[0][0]) > max(half, values[0][1], 1e-9 * (1 + abs(value))) for value, half in values[1:]):
        raise Unreadable("sides that are not equal")
    if len(known) > 1 and _half_place(right) and not _half_place(exact[-2]):  # 2/3 = 0.667
        right = exact[-2].strip()
    if len(exact) == 1 or len(known) == len(trees):
        return _part(right, tight)
    two = (trees[0], trees[-1]) if trees[0] and trees[-1] else None
    if _LABEL.fullmatch(left):
        return Named(left, _part(right, tight), two)
    if trees[-1] and trees[-1][0] == "symbol" and known:  # 5 = x
        return Named(right, _part(left, tight), two)
    if two is None:
        raise Unreadable("an equation of words")
    combination = len(symbols(two[0])) > 1 or (two[0][0] in FUNCTIONS and symbols(two[0]))
    asked = combination and not symbols(two[1]) and _number(two[1]) != 0
    return Equation(two, _part(right, tight) if asked else None)


def _half_place(side: str) -> float:
    """By how much a decimal of two places or more may be off as it was rounded; 0 for everything else."""
    decimal = re.fullmatch(r"\s*-?\d*\.(\d{2,})\s*", side)
    return 0.5000001 * 10.0 ** -len(decimal[1]) if decimal else 0.0


def _inequality(sides: list[str], signs: list[str], tight: bool) -> Answer:
    trees = [read_expression(side, tight) for side in sides]
    unknowns = {tree[1] for tree in trees if tree[0] == "symbol"}
    rest = [tree for tree in trees if tree[0] != "symbol"]
    if len(unknowns) == 1 and not any(symbols(tree) for tree in rest):
        reals = everything()
        for left, sign, right in zip(trees, signs, trees[1:], strict=False):
            bound, sign = (constant(right), sign) if left[0] == "symbol" else (constant(left), _turned(sign))
            reals = reals.intersection(_half_line(sign, bound))
        return Solutions(reals, unknowns.pop())
    if "≠" in signs:
        raise Unreadable("≠ between formulas")
    pairs = [(left, right) if sign in "<≤" else (right, left) for left, sign, right in zip(trees, signs, trees[1:], strict=False)]
    return Inequality(tuple((("add", high, ("negative", low)), sign in "<>") for (low, high), sign in zip(pairs, signs, strict=True)))


def _turned(sign: str) -> str:
    return sign.translate(str.maketrans("<>≤≥", "><≥≤"))


def _half_line(sign: str, bound: Number) -> Reals:
    if sign == "≠":
        return points([bound]).complement()
    infinite = everything().intervals[0]
    if sign in "<≤":
        return interval(infinite.low, False, bound, sign == "≤")
    return interval(bound, sign == "≥", infinite.high, False)


def _matrix(inside: str, factor: str, turned: bool, tight: bool) -> Answer:
    """`factor` times the matrix, or its transpose if `turned`."""
    rows = [row for row in re.split(r"\\\\(?:\[[^\]]*\])?|\\cr\b", inside) if row.strip()]
    cells = [[cell.strip() for cell in row.split("&")] for row in rows]
    if not cells or sum(map(len, cells)) > ITEMS:
        raise Unreadable("an empty or too large matrix")
    if len(cells) == len(cells[0]) == 1 and not factor:
        return _part(cells[0][0], tight)
    matrix = [[_part(cell, tight) for cell in row] for row in cells]
    if factor:
        scale = ("number", Fraction(-1)) if factor == "-" else read_expression(factor, tight)
        matrix = [[_multiplied(cell, scale) for cell in row] for row in matrix]
    if turned:
        matrix = [list(column) for column in zip(*matrix, strict=True)] if len({len(row) for row in matrix}) == 1 else []
    if not matrix:
        raise Unreadable("a transposed matrix with rows of several lengths")
    return Matrix(tuple(tuple(row) for row in matrix))


def _multiplied(cell: Answer, factor: Node) -> Answer:
    if not isinstance(cell, Value):
        raise Unreadable("a factor of what is no number or formula")
    return Value(("multiply", factor, cell.tree))


def _with_signs(text: str) -> Iterator[str]:
    """The text with + and - for every ±, and the opposite of the first one for ∓."""
    count = text.count("±")
    if count > PLUS_MINUS:
        raise Unreadable(f"{count} signs ±; {PLUS_MINUS} are read")
    for signs in product("+-", repeat=count):
        remaining = iter(signs)
        opposite = "-" if signs[0] == "+" else "+"
        yield re.sub("±", lambda _, remaining=remaining: next(remaining), text).replace("∓", opposite)  # type: ignore[misc]
