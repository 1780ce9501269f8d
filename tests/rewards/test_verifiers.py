"""The small verifiers: tolerance, choice, form and length; and math-verify as the second opinion."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from ada.rewards import choice, format, length, math, math_verify, numeric
from ada.rewards.functions import UnreadableGold


def boxed(answer: str) -> str:
    return f"Hence $\\boxed{{{answer}}}$."


@pytest.mark.parametrize(
    ("gold", "answer", "tolerance", "reward"),
    [
        ("100", "101", {}, 1.0),  # the bound itself is inside
        ("100", "101.0001", {}, 0.0),
        ("100", "99", {}, 1.0),
        ("-100", "-101", {}, 1.0),
        ("-100", "101", {}, 0.0),
        ("100", "105", {"relative": 0.05}, 1.0),
        ("100", "100.5", {"relative": 0.0}, 0.0),
        ("0", "0.001", {}, 0.0),  # a share of nothing is nothing
        ("0", "0.001", {"absolute": 0.001953125}, 1.0),
        ("33.3", "\\frac{100}{3}", {}, 1.0),
        ("4.5e33", "4.51 \\times 10^{33}", {}, 1.0),
        ("4.5e33", "4.51 \\times 10^{32}", {}, 0.0),
        ("9.8", "g \\approx 9.81\\text{ m/s}^2", {}, 1.0),
        ("0.28", "28\\%", {}, 1.0),
        ("28\\%", "0.28", {}, 1.0),
        ("3.14", "\\pi", {}, 1.0),
        ("5", "5, 6", {}, 0.0),
        ("5", "4 < x < 6", {}, 0.0),
        ("5", "x", {}, 0.0),
        ("5", "\\infty", {"relative": 1e300}, 0.0),
        ("5", "\\text{nan}", {"relative": 1e300}, 0.0),
        ("10", "9^{9^{9^9}}", {}, 0.0),
        ("5", "", {}, 0.0),
    ],
)
def test_numbers_within_a_tolerance(gold: str, answer: str, tolerance: dict[str, float], reward: float) -> None:
    assert numeric.score(boxed(answer), gold, **tolerance) == reward


@pytest.mark.parametrize("gold", ["", "five apples and a pear", "x", "1, 2"])
def test_a_gold_answer_that_is_no_number_gives_no_verdict_R06(gold: str) -> None:
    with pytest.raises(UnreadableGold, match="is no number"):
        numeric.score(boxed("5"), gold)


@pytest.mark.parametrize("tolerance", [{"relative": -0.1}, {"absolute": float("nan")}, {"relative": float("inf")}])
def test_a_tolerance_that_is_none_is_refused_at_the_start(tolerance: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="a tolerance is 0 or a positive number"):
        numeric.ready(**tolerance)


@pytest.mark.parametrize(
    ("gold", "response", "reward"),
    [
        ("B", boxed("B"), 1.0),
        ("B", boxed("\\text{(B)}"), 1.0),
        ("(B)", boxed("b"), 1.0),
        ("B", boxed("(B)\\ 42"), 1.0),
        ("B", "The answer is (B).", 1.0),
        ("B", "Answer: option B", 1.0),
        ("B", boxed("C"), 0.0),
        ("B", boxed("42"), 0.0),
        ("B", boxed("A, B"), 0.0),
        ("B", boxed("A \\text{ or } B"), 0.0),
        ("B", "B", 0.0),
        ("A, C", boxed("CA"), 1.0),
        ("A, C", boxed("A"), 0.0),
    ],
)
def test_choices(gold: str, response: str, reward: float) -> None:
    assert choice.score(response, gold) == reward


@pytest.mark.parametrize("gold", ["", "42", "Z", "\\text{both}"])
def test_a_gold_answer_that_is_no_letter_gives_no_verdict_R06(gold: str) -> None:
    with pytest.raises(UnreadableGold, match="names no choice"):
        choice.score(boxed("B"), gold)


def test_the_form_is_that_of_the_whole_response() -> None:
    pattern = r"<think>.*</think>\s*.*\\boxed\{.+\}.*"
    good = "<think>two\nlines</think>\n\\boxed{5}"
    assert format.score(good, "5", pattern=pattern) == 1.0
    assert [format.score(text, "5", pattern=pattern) for text in ("x" + good, "<think>\\boxed{5}", "", good.replace("5", ""))] == [0.0] * 4


def test_the_soft_punishment_of_overlong_responses() -> None:
    """Equation 13 of the paper with its numbers: 0 up to 16384, then a line down to -1 at 20480, -1 beyond."""
    given = {0: 0.0, 16384: 0.0, 17408: -0.25, 18432: -0.5, 20480: -1.0, 20481: -1.0, 10**6: -1.0}
    for tokens, reward in given.items():
        assert length.overlong("", "", tokens=tokens, cut_off=False, limit=20480, buffer=4096) == reward
    assert length.overlong("", "", tokens=5, cut_off=True, limit=20480, buffer=4096) == -1.0


def test_a_length_within_bounds() -> None:
    assert [length.within("", "", tokens=t, least=2, most=4) for t in (1, 2, 4, 5)] == [0.0, 1.0, 1.0, 0.0]
    with pytest.raises(ValueError, match="0 <= least <= most"):
        length.ready(least=5, most=4)


MATH = [
    ("\\frac{1}{2}", "0.5", 1.0),
    ("2\\sqrt{3}", "\\sqrt{12}", 1.0),
    ("\\{1,2\\}", "\\{2,1\\}", 1.0),
    ("7", "8", 0.0),
    ("x^2-1", "(x-1)(x+1)", 1.0),
]


@pytest.mark.parametrize(("gold", "answer", "reward"), MATH)
def test_both_opinions_agree_on_what_is_plain(gold: str, answer: str, reward: float) -> None:
    assert math.score(boxed(answer), gold) == math_verify.score(boxed(answer), gold) == reward


def test_the_second_opinion_runs_no_text_and_needs_a_gold_it_can_read_R07(tmp_path) -> None:  # type: ignore[no-untyped-def]
    guard = tmp_path / "made"
    assert math_verify.score(boxed(f"__import__('os').system('touch {guard}')"), "5") == 0.0 and not guard.exists()
    assert math_verify.score("5", "5") == 0.0  # no box, no marker
    with pytest.raises(UnreadableGold):
        math_verify.score(boxed("5"), "")


def test_the_recipes_pattern_of_a_program_is_met_by_a_program_at_the_end() -> None:
    recipe = yaml.safe_load((Path(__file__).parents[2] / "recipes" / "code_jsonl.yaml").read_text())
    pattern = recipe["reward"]["parts"]["form"]["arguments"]["pattern"]
    assert format.score("So:\n```python\nprint(1)\n```\n", "", pattern=pattern) == 1.0
    assert format.score("So:\n```python\nprint(1)\n```\nDone.", "", pattern=pattern) == 0.0
