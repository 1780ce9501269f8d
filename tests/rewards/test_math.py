"""Frozen tables of right and wrong answers, and what must hold for all of them."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ada.rewards.math import gold_problem, score

TABLE = [json.loads(line) for line in (Path(__file__).parent / "equivalences.jsonl").read_text().splitlines()]
DOCUMENTATION = Path(__file__).parents[2] / "docs" / "rewards-math.md"
DATA = Path(__file__).parents[2].parent / "shared" / "data"

# files and rows whose gold answer can be matched by its own spelling alone
UNREADABLE_GOLDS = {
    "$f(x)=a x+b$, where $b$ is an arbitrary integer, and $a$ is an arbitrary positive integer with $\\mho(a)=0$",  # a sentence
    "$t(0,4]$",  # t in (0, 4], with its sign lost
}


def boxed(answer: str) -> str:
    return f"Hence $\\boxed{{{answer}}}$."


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row["gold"][:40] or "empty")
def test_frozen_table_R06(row: dict[str, list[str]]) -> None:
    """`same` and `different`: what stands in the box; `right` and `wrong`: whole responses."""
    gold = str(row["gold"])
    assert [answer for answer in row.get("same", []) if score(boxed(answer), gold) != 1.0] == []
    assert [answer for answer in row.get("different", []) if score(boxed(answer), gold) != 0.0] == []
    assert [text for text in row.get("right", []) if score(text, gold) != 1.0] == []
    assert [text for text in row.get("wrong", []) if score(text, gold) != 0.0] == []


def test_the_table_of_the_documentation() -> None:
    rows = [line.split(" | ") for line in DOCUMENTATION.read_text().splitlines() if line.startswith("| `")]
    assert len(rows) > 20
    for cells in rows:
        (gold,), right, wrong = (re.findall("`([^`]+)`", cell) for cell in cells)
        assert right and wrong
        assert [score(boxed(answer), gold) for answer in right] == [1.0] * len(right), gold
        assert [score(boxed(answer), gold) for answer in wrong] == [0.0] * len(wrong), gold


@pytest.mark.parametrize(
    ("response", "gold", "reward"),
    [
        ("The answer is 42 (forty-two).", "42", 1.0),
        ("The answer is 42, because 6 times 7 is 42.", "42", 1.0),
        ("The answer is $\\frac{1}{2}$ or $0.5$.", "1/2", 1.0),
        ("The answer is $1$ or $2$.", "2", 0.0),
        ("Answer: 3/4 of the cake", "0.75", 1.0),
        ("\\boxed{3} wait, actually \\boxed{4}", "4", 1.0),
        ("\\boxed{3} wait, actually \\boxed{4}", "3", 0.0),
        ("The answer is -5", "-5", 1.0),
        ("The answer is -5", "5", 0.0),
        ("\\boxed{1<x<2}", "(1,2)", 1.0),
        ("\\boxed{}", "", 0.0),
        ("\\boxed{4} and then \\boxed{5", "4", 0.0),  # cut off while it was changing its answer
        ("The answer is 4. \\boxed{", "4", 0.0),
        ("\\boxed{1, 234}", "1,234", 0.0),  # two numbers, not one
        ("<think>\\boxed{4}", "4", 0.0),
        ("<think>\\boxed{4}</think> The answer is 5.", "4", 0.0),
        ("<think>\\boxed{4}</think> The answer is 5.", "5", 1.0),
        ("The answer is 4.\nI hope this answer is correct.", "4", 1.0),
        ("4", "4", 0.0),  # no box and no marker
    ],
)
def test_extraction_rules_R06(response: str, gold: str, reward: float) -> None:
    assert score(response, gold) == reward


@pytest.mark.parametrize(
    ("gold", "answer", "reward", "turned"),
    [
        ("\\frac{1}{3}", "0.333", 0.0, 1.0),  # a response must be exact, or have six places; a gold decimal may be rounded
        ("x=5", "5", 1.0, 1.0),
        ("x+z=1", "1", 0.0, 1.0),  # a number does not answer for an equation, but a sum may name the number asked for
        ("y=2x+1", "2y=4x+2", 1.0, 1.0),
        ("0.28", "28\\%", 1.0, 1.0),
        ("28", "28\\%", 1.0, 1.0),
        ("\\{3,4\\}", "(3,4)", 0.0, 0.0),
        ("x \\ge 5", "[5,\\infty)", 1.0, 1.0),
    ],
)
def test_the_gold_answer_comes_first_R06(gold: str, answer: str, reward: float, turned: float) -> None:
    assert (score(boxed(answer), gold), score(boxed(gold), answer)) == (reward, turned)


def test_a_repeating_gold_decimal_is_read_as_rounded() -> None:
    assert score(boxed("\\frac{100}{3}"), "33.3") == 1.0
    assert score(boxed("\\frac{333}{10}"), "33.3") == 1.0
    assert score(boxed("\\frac{3331}{100}"), "33.3") == 0.0  # terminates at another number
    assert score(boxed("\\frac{82}{3}"), "27.0") == 0.0  # amc23 writes whole numbers so


fractions = st.fractions(max_denominator=10**6)


@settings(deadline=None)  # a loaded machine takes its time
@given(fractions)
def test_spellings_of_a_fraction(x: Fraction) -> None:
    n, d = x.numerator, x.denominator
    for spelling in (f"{n}/{d}", f"\\frac{{{n}}}{{{d}}}", f"-\\frac{{{-n}}}{{{d}}}", f"{3 * n}/{3 * d}", f"x = \\frac{{{n}}}{{{d}}}"):
        assert score(boxed(spelling), f"\\dfrac{{{n}}}{{{d}}}") == 1.0


@settings(deadline=None)  # a loaded machine takes its time
@given(fractions, fractions)
def test_another_number_is_wrong(x: Fraction, y: Fraction) -> None:
    assert score(boxed(f"\\frac{{{x.numerator}}}{{{x.denominator}}}"), f"{y.numerator}/{y.denominator}") == float(x == y)


@settings(deadline=None)  # a loaded machine takes its time
@given(st.integers(-(10**18), 10**18), st.integers(0, 9))
def test_separated_thousands(n: int, decimals: int) -> None:
    assert score(boxed(f"{n:,}"), str(n)) == score(boxed(f"{n:,}".replace(",", "{,}")), str(n)) == 1.0
    assert score(boxed(str(n) + "." + "0" * decimals), f"{n:,}") == 1.0
    assert score(boxed(str(n + 1)), str(n)) == 0.0


@settings(deadline=None)  # a loaded machine takes its time
@given(st.lists(st.integers(-50, 50), min_size=2, max_size=6, unique=True), st.randoms(use_true_random=False))
def test_order_matters_in_tuples_only(items: list[int], random) -> None:
    shuffled = random.sample(items, len(items))
    gold, answer = ", ".join(map(str, items)), ", ".join(map(str, shuffled))
    assert score(boxed(f"\\{{{answer}\\}}"), gold) == 1.0
    assert score(boxed(f"({answer})"), f"({gold})") == float(shuffled == items)
    assert score(boxed(answer + ", 99"), gold) == score(boxed(str(items[0])), gold) == 0.0


@settings(deadline=None)  # a loaded machine takes its time
@given(st.lists(st.integers(-9, 9), min_size=1, max_size=5), st.integers(-9, 9))
def test_expanded_and_nested_polynomials(coefficients: list[int], shift: int) -> None:
    powers = " + ".join(f"({c})x^{k}" for k, c in enumerate(coefficients))
    nested = "0"
    for c in reversed(coefficients):
        nested = f"({nested})x + ({c})"
    assert score(boxed(nested), powers) == 1.0
    assert score(boxed(f"{nested} + ({shift})"), powers) == float(shift == 0)


@settings(deadline=None)  # a loaded machine takes its time
@given(st.text(max_size=300), st.text(max_size=40))
def test_any_text_gives_zero_or_one_R04(response: str, gold: str) -> None:
    assert score(response, gold) in (0.0, 1.0)
    assert score(f"\\boxed{{{response}}}", gold) in (0.0, 1.0)


LATEX = [
    "\\frac",
    "\\sqrt",
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    "^",
    "_",
    "|",
    "!",
    "1",
    "23",
    "0",
    "x",
    "n",
    "i",
    "e",
    "+",
    "-",
    "*",
    "/",
    "=",
    "<",
]
LATEX += [
    ",",
    ";",
    "\\pm",
    "\\cup",
    "\\{",
    "\\}",
    "\\text{",
    "\\sin",
    "\\log",
    "\\binom",
    "\\infty",
    "\\le",
    "\\in",
    "%",
    "^\\circ",
    ":",
    ".",
]


@settings(deadline=None)  # a loaded machine takes its time
@given(st.lists(st.sampled_from(LATEX), max_size=40).map("".join), st.lists(st.sampled_from(LATEX), max_size=12).map("".join))
def test_any_formula_gives_zero_or_one_R04(answer: str, gold: str) -> None:
    assert score(f"\\boxed{{{answer}}}", gold) in (0.0, 1.0)


def test_scores_stay_with_their_answers_R05() -> None:
    pairs = [(boxed(str(n)), str(n if n % 3 else n + 1)) for n in range(60)] + [(boxed("\\frac{"), "1"), (boxed("2+"), "2")]
    expected = [float(n % 3 != 0) for n in range(60)] + [0.0, 0.0]
    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(lambda pair: score(*pair), pairs)) == expected


def test_readings_are_shared_between_threads() -> None:
    """What one thread has read and cached is compared in another, whose numbers have a type of their own."""
    pairs = [("(\\sqrt{2},\\infty)", "x>\\sqrt{2}"), ("(-\\pi,1)\\cup(2,\\pi)", "(2,\\pi)\\cup(-\\pi,1)"), ("\\sqrt{12}", "2\\sqrt{3}")]
    assert all(score(boxed(answer), gold) == 1.0 for gold, answer in pairs)
    with ThreadPoolExecutor(1) as thread:
        assert list(thread.map(lambda pair: score(boxed(pair[1]), pair[0]), pairs)) == [1.0] * len(pairs)


def test_an_alarm_of_the_caller_survives_R02() -> None:
    signal.alarm(30)
    try:
        assert score(boxed("\\frac{1}{2}"), "0.5") == 1.0
        assert signal.alarm(0) > 0
    finally:
        signal.alarm(0)


def test_importing_is_light_R07() -> None:
    source = "import sys, ada.rewards.math; print(sorted({'torch', 'numpy', 'transformers'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, cwd=Path(__file__).parents[2], check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("gold", ["", " \n", "$ $", "."])
def test_an_empty_gold_answer_is_refused_R06(gold: str) -> None:
    with pytest.raises(ValueError, match="empty"):
        gold_problem(gold)
    assert score("\\boxed{}", gold) == score(boxed("0"), gold) == 0.0


def test_a_gold_answer_that_cannot_be_read_is_told_apart() -> None:
    assert gold_problem("\\int_0^1 x^2 dx") is not None
    assert gold_problem("see the solution in the appendix of the book") is not None
    for gold in ("\\frac{1}{2}", "(1,2)", "\\text{Evelyn}", "B", "x>3", "4210_5", "8:34 p.m.", "2:3", "\\emptyset", "12\\text{ apples}"):
        assert gold_problem(gold) is None


@pytest.mark.skipif(not DATA.exists(), reason="the benchmark files are not here")
@pytest.mark.parametrize("path", sorted(DATA.glob("*.jsonl")), ids=lambda path: path.stem)
def test_every_gold_answer_of_a_benchmark_is_right_itself(path: Path) -> None:
    golds = [json.loads(line)["answer"] for line in path.read_text().splitlines()]
    assert golds
    assert [gold for gold in golds if score(f"\\boxed{{{gold}}}", gold) != 1.0] == []
    assert {gold for gold in golds if gold_problem(gold)} <= UNREADABLE_GOLDS
