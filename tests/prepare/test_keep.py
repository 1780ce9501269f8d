"""Rules for keeping problems, against counting by hand."""

from __future__ import annotations

import pytest

from ada.prepare.keep import read_keep
from ada.recipe.errors import RecipeError


def kept(rule, draws=16):
    keep = read_keep(rule, draws)
    return [right for right in range(draws + 1) if keep(right, draws)]


@pytest.mark.parametrize(
    ("rule", "rights"),
    [
        ("0 < p <= 0.375", [1, 2, 3, 4, 5, 6]),  # 6/16 is 0.375
        ("0<p<0.375", [1, 2, 3, 4, 5]),
        ("p <= 1/8", [0, 1, 2]),
        ("p > 0.9", [15, 16]),
        ("0.5 >= p >= 0.4", [7, 8]),
        ("1..2 of 16", [1, 2]),
        ("3 of 16", [3]),
        ("0..16 of 16", list(range(17))),
    ],
)
def test_what_stays_of_16(rule, rights):
    assert kept(rule) == rights


def test_a_tenth_is_a_tenth():
    """In floating point 3/10 is not 3 times a tenth."""
    assert kept("0 < p <= 0.3", draws=10) == [1, 2, 3]


def test_responses_without_a_verdict():
    """2 right of the 10 that were judged: a pass rate of 0.2, and 2 right answers. Nothing judged: nothing known."""
    assert not read_keep("p <= 0.19", 16)(2, 10) and read_keep("p <= 0.2", 16)(2, 10)
    assert read_keep("1..2 of 16", 16)(2, 10)
    assert not read_keep("0 <= p <= 1", 16)(0, 0)


@pytest.mark.parametrize(
    "rule", ["", "p", "0.5", "p = 0.5", "0 < q <= 1", "0 < 1 < p", "0 < p < 0.5 < 1", "p < x", "p < 1/0", "2..1 of 16"]
)
def test_other_rules_are_refused(rule):
    with pytest.raises(RecipeError, match="it must be a range of the pass rate p, such as '0 < p <= 0.375'"):
        read_keep(rule, 16)


def test_a_rule_of_other_counts_than_are_drawn_is_refused():
    with pytest.raises(RecipeError, match="speaks of 16 responses, and --draws is 8"):
        read_keep("1..2 of 16", 8)
