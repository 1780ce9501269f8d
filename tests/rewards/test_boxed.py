"""Exact match of the last complete box."""

from __future__ import annotations

import time

import pytest

from ada.rewards.boxed import last_boxed, score


@pytest.mark.parametrize(
    ("text", "content"),
    [
        ("12,12,16,01\\boxed{01622}", "01622"),
        ("no box", None),
        ("\\boxed{1} wait, \\boxed{2}", "2"),
        ("\\boxed{1} wait, \\boxed{2", "1"),  # the last complete one
        ("\\boxed{\\frac{1}{2}}", "\\frac{1}{2}"),
        ("\\boxed{1 {2}", None),  # the brace that would close the box closes the inner one
        ("{ \\boxed{3} }}", "3"),
        ("}}\\boxed{4}", "4"),
        ("\\boxed{\\boxed{5}}", "5"),  # the box that opens last
        ("\\boxed{\\{1, 2\\}}", "\\{1, 2\\}"),
        ("\\boxed{\\{}", "\\{"),  # an escaped brace nests nothing
        ("\\boxed{}", ""),
        ("\\boxed 6", None),
        ("", None),
    ],
)
def test_last_boxed(text: str, content: str | None) -> None:
    assert last_boxed(text) == content


@pytest.mark.parametrize(
    ("response", "answer", "reward"),
    [
        ("\\boxed{01622}", "01622", 1.0),
        ("\\boxed{ 01622 }", "01622\n", 1.0),
        ("\\boxed{1622}", "01622", 0.0),  # the text counts, not the number
        ("\\boxed{1,622}", "1622", 0.0),
        ("\\boxed{0 1622}", "01622", 0.0),
        ("\\boxed{01622} no, \\boxed{00000}", "01622", 0.0),
        ("\\boxed{00000} no, \\boxed{01622}", "01622", 1.0),
        ("\\boxed{01622} no, \\boxed{", "01622", 1.0),
        ("\\boxed{0}", "0", 1.0),
        ("01622", "01622", 0.0),
        ("\\boxed{}", "01622", 0.0),
        ("\\boxed{01622<unused25>}", "01622", 0.0),
    ],
)
def test_score(response: str, answer: str, reward: float) -> None:
    assert score(response, answer) == reward


@pytest.mark.parametrize("gold", ["", "  "])
def test_empty_gold_is_refused(gold: str) -> None:
    with pytest.raises(ValueError, match="empty"):
        score("\\boxed{}", gold)


@pytest.mark.parametrize("hostile", ["\\boxed{", "{", "}", "\\", "\\boxed{{", "\\boxed{}", "\\boxe", "\\{"])
def test_hostile_text_takes_linear_time(hostile: str) -> None:
    text = hostile * (1_000_000 // len(hostile))
    start = time.process_time()
    score(text + "\\boxed{7}", "7")
    assert time.process_time() - start < 5  # about 0.3 s; a quadratic scan would take hours
