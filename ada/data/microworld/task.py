"""Column arithmetic in bases 5 to 9: the problems, their right answers and the text they are asked and answered in.

    b9:0723+0788=   ->   12,12,16,01\\boxed{01622}

The response lists the columns from the least significant one, each `carry-or-borrow digit`; the box holds the last carry or borrow
and then the digits from the most significant one.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import islice
from typing import Literal, get_args

Operator = Literal["+", "-"]
Split = Literal["train", "heldout"]
Column = tuple[int, int]  # (carry or borrow, digit)

BASES = (5, 6, 7, 8, 9)
WIDTH = 4  # columns; shorter numbers are padded with zeros
COUNTS: dict[Split, int] = {"train": 512, "heldout": 200}
KEEP_UNCRITICAL = 0.2  # probability that a drawn problem without a critical column is kept
PROMPT_TOKENS = 13
RESPONSE_TOKENS = 19  # of a well-formed response, the end token included
MAX_RESPONSE_TOKENS = 20
SEED = 20_240


@dataclass(frozen=True, slots=True)
class Problem:
    """`x op y` in base `base`, both numbers below base**4 and, for -, x >= y."""

    id: str  # "<split>-<number>", "" for a problem that belongs to neither split
    base: int
    op: Operator
    x: int
    y: int

    @property
    def prompt(self) -> str:
        return f"b{self.base}:{numeral(self.x, self.base)}{self.op}{numeral(self.y, self.base)}="

    @property
    def columns(self) -> list[Column]:
        return work(self, right_column)

    @property
    def answer(self) -> str:
        """What belongs into the box: last carry or borrow, then the four digits."""
        return boxed_text(self.columns)

    @property
    def response(self) -> str:
        """The whole right response, without the end token."""
        return response_text(self.columns)

    @property
    def critical(self) -> int:
        """Number of critical columns: sum >= base for +, negative difference for -. The problem's difficulty, 0 to 4."""
        return sum(carry for carry, _ in self.columns)


def digits(number: int, base: int) -> list[int]:
    """The four digits of a number, least significant first."""
    return [number // base**place % base for place in range(WIDTH)]


def numeral(number: int, base: int) -> str:
    return "".join(str(digit) for digit in reversed(digits(number, base)))


def column_value(op: Operator, x: int, y: int, carry: int) -> int:
    return x + y + carry if op == "+" else x - y - carry


def is_critical(base: int, value: int) -> bool:
    return not 0 <= value < base


def right_column(base: int, op: Operator, value: int) -> Column:
    return int(is_critical(base, value)), value % base


def work(problem: Problem, column: Callable[[int, Operator, int], Column]) -> list[Column]:
    """The columns from the least significant one, where `column(base, op, value)` does one, and its carry or borrow enters the next."""
    columns: list[Column] = []
    carry = 0
    for x, y in zip(digits(problem.x, problem.base), digits(problem.y, problem.base), strict=True):
        carry, digit = column(problem.base, problem.op, column_value(problem.op, x, y, carry))
        columns.append((carry, digit))
    return columns


def boxed_text(columns: list[Column]) -> str:
    return f"{columns[-1][0]}" + "".join(str(digit) for _, digit in reversed(columns))


def response_text(columns: list[Column]) -> str:
    return ",".join(f"{carry}{digit}" for carry, digit in columns) + f"\\boxed{{{boxed_text(columns)}}}"


def draw(rng: random.Random) -> Problem:
    """One problem: base, operator and number of digits uniform, leading digits nonzero; for - the larger number comes first."""
    while True:
        base, op = rng.choice(BASES), rng.choice(get_args(Operator))
        places = rng.randint(2, WIDTH)
        x, y = (rng.randrange(base ** (places - 1), base**places) for _ in range(2))
        if op == "-":
            x, y = max(x, y), min(x, y)
        problem = Problem("", base, op, x, y)
        if problem.critical or rng.random() < KEEP_UNCRITICAL:
            return problem


def distinct(rng: random.Random) -> Iterator[Problem]:
    seen: set[Problem] = set()
    while True:
        problem = draw(rng)
        if problem not in seen:
            seen.add(problem)
            yield problem


@cache
def problems(split: Split) -> tuple[Problem, ...]:
    """The 512 training or 200 held-out problems, always the same ones; no problem occurs twice, within a split or across.

    The splits are equally hard: of all problems, sorted by operator, base and critical columns, evenly spaced ones are held out.
    """
    if split not in COUNTS:
        raise ValueError(f"micro-world split {split!r}: there is no such split; choose one of {', '.join(COUNTS)}")
    total = sum(COUNTS.values())
    drawn = list(islice(distinct(random.Random(SEED)), total))
    by_kind = sorted(range(total), key=lambda i: (drawn[i].op, drawn[i].base, drawn[i].critical, i))
    heldout = {by_kind[place * total // COUNTS["heldout"]] for place in range(COUNTS["heldout"])}
    chosen = [p for i, p in enumerate(drawn) if (i in heldout) == (split == "heldout")]
    return tuple(Problem(f"{split}-{number:03d}", p.base, p.op, p.x, p.y) for number, p in enumerate(chosen))


def fresh(rng: random.Random) -> Iterator[Problem]:
    """Endless problems of neither split; they may repeat."""
    known = {problem.prompt for split in COUNTS for problem in problems(split)}
    while True:
        problem = draw(rng)
        if problem.prompt not in known:
            yield problem
