"""What an answer can mean. `reading` makes these, `comparison` compares them."""

from __future__ import annotations

from dataclasses import dataclass

from ada.rewards.answers.expression import Node
from ada.rewards.answers.reals import Reals
from ada.rewards.answers.units import Unit


@dataclass(frozen=True, slots=True)
class Value:
    """A number or formula. `places`: digits after the point where it is written as a decimal, of which `digits` are significant."""

    tree: Node
    unit: Unit | None = None
    percent: bool = False
    places: int | None = None
    digits: int = 0


@dataclass(frozen=True, slots=True)
class Collection:
    """`list` and `set` have no order, a `tuple` has; so have `named` values (x=3, y=4), which stand in the order of their names."""

    kind: str
    items: tuple[Answer, ...]
    brackets: str = ""
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Matrix:
    rows: tuple[tuple[Answer, ...], ...]


@dataclass(frozen=True, slots=True)
class Named:
    """x = 5, f(x) = 2x, x in [0, 1]; with the two sides where they are formulas."""

    name: str
    value: Answer
    sides: tuple[Node, Node] | None = None


@dataclass(frozen=True, slots=True)
class Equation:
    """An equation that names no result. `value`: the right side, where the left is a combination whose value was asked for (m + n = 7)."""

    sides: tuple[Node, Node]
    value: Answer | None = None


@dataclass(frozen=True, slots=True)
class Inequality:
    """What is no bound of a single unknown: |x| < 3, x + y <= 1. Each difference is > 0, or >= 0 unless strict."""

    conditions: tuple[tuple[Node, bool], ...]  # difference, strict


@dataclass(frozen=True, slots=True)
class Solutions:
    """The real numbers that an inequality in one unknown, or a union of intervals, describes."""

    reals: Reals
    unknown: str | None = None


@dataclass(frozen=True, slots=True)
class Congruence:
    """The numbers that leave a residue: x = 3 (mod 7). `unknown` is empty where none is named."""

    unknown: str
    residue: int
    modulus: int


@dataclass(frozen=True, slots=True)
class Numeral:
    """4210 in base 5; in another base it is another answer."""

    digits: str
    base: int


@dataclass(frozen=True, slots=True)
class Clock:
    """Minutes since midnight; if not `exact`, since midnight or noon: then 7:12 may be a ratio as well, of these `terms`."""

    minutes: int
    exact: bool
    terms: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Ratio:
    terms: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Words:
    text: str


Answer = Value | Collection | Matrix | Named | Equation | Inequality | Solutions | Congruence | Numeral | Clock | Ratio | Words
