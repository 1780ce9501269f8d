"""pass@k curves, intervals, results and paired differences: against enumeration, theory and numbers worked out by hand."""

from __future__ import annotations

import json
import math
from itertools import combinations, product

import numpy as np
import pytest

from ada.evaluation.bootstrap import intervals
from ada.evaluation.comparison import differences
from ada.evaluation.passk import pass_curves
from ada.evaluation.report import differences_markdown, markdown, picture
from ada.evaluation.results import ALL, part, results
from ada.evaluation.row import Row


def row(id: str, verdicts: str) -> Row:
    return Row(id, verdicts, tuple(range(1, len(verdicts) + 1)))


def test_curves_are_the_share_of_subsets_with_a_right_answer_Z04():
    curves = pass_curves(6, [0, 2, 6, 2])
    for curve, right in zip(curves, [0, 2, 6, 2], strict=True):
        for k in range(1, 7):
            subsets = [any(subset) for subset in combinations([i < right for i in range(6)], k)]
            assert curve[k - 1] == pytest.approx(sum(subsets) / len(subsets), abs=1e-12)


def test_curves_reach_256_samples_without_rounding_away():
    """pass@k of one right answer among n is k/n, also where binomials have 76 digits."""
    assert pass_curves(256, [1])[0] == pytest.approx(np.arange(1, 257) / 256, abs=1e-12)


def test_the_interval_is_the_bootstraps_own_distribution():
    """Of three problems all 27 resamples can be listed."""
    values = np.array([[0.0], [0.25], [1.0]])
    (found,) = intervals([values])
    means = sorted(np.mean(resample) for resample in product(values[:, 0], repeat=3))
    assert found.value == pytest.approx(1.25 / 3)
    assert (found.low, found.high) == (means[0], means[-1])  # 1/27 = 3.7 % lie at each end, more than 2.5 %


def test_an_interval_narrows_as_theory_says():
    """400 problems, half of them solved: 1.96 standard errors of sqrt(0.25/400); 4,000 resamples put 3 % of noise on an end."""
    (found,) = intervals([np.repeat([[0.0], [1.0]], 200, axis=0)])
    half = 1.96 * math.sqrt(0.25 / 400)
    assert found.value == 0.5
    assert 0.5 - found.low == pytest.approx(half, rel=0.1) and found.high - 0.5 == pytest.approx(half, rel=0.1)


def test_sets_weigh_by_their_problems_and_are_resampled_by_themselves():
    """Three problems always solved and one never, in sets of their own: 0.75, and no other value, since no set can grow."""
    (found,) = intervals([np.ones((3, 1)), np.zeros((1, 1))])
    assert (found.value, found.low, found.high) == (0.75, 0.75, 0.75)


SETS = {
    "easy": [row("easy/1", "RRRR"), row("easy/2", "RWTU"), row("easy/3", "RRWW")],
    "hard": [row("hard/1", "WWWW")],
}


def test_results_by_hand_Z04():
    """Rights 4, 1, 2 and 0 of 4; pass@2 of 1 in 4 is 1/2, of 2 in 4 is 5/6."""
    found = results(SETS, {"both": ["easy", "hard"]}, {"easy/1": {"level": "1"}, "easy/2": {"level": "2"}}, samples=4)
    assert list(found) == ["easy", "hard", "both", ALL]
    assert [each.value for each in found["easy"].curve] == pytest.approx([7 / 12, (1 + 1 / 2 + 5 / 6) / 3, (1 + 3 / 4 + 1) / 3, 1])
    assert [each.value for each in found["hard"].curve] == [0, 0, 0, 0]
    for whole in ("both", ALL):
        assert found[whole].problems == 4 and found[whole].curve[0].value == pytest.approx(7 / 16)
    assert (found["easy"].truncated, found["easy"].unknown, found["easy"].mean_tokens) == (1 / 12, 1 / 12, 2.5)
    levels = found["easy"].labels["level"]
    assert {level: (of.problems, of.curve[0].value) for level, of in levels.items()} == {"1": (1, 1.0), "2": (1, 0.25)}


def test_what_failed_altogether_or_is_not_there_has_numbers_and_no_nan():
    failed = results({"one": [Row("one/1", "UUUU", (0, 0, 0, 0), {"engine": 4})], "none": []}, {}, {}, samples=4)
    assert failed["one"].curve[3].value == 0.0 and failed["one"].unknown == 1.0 and failed["one"].failures == {"engine": 4}
    assert failed["none"].problems == 0 and failed["none"].curve == [] and failed["none"].truncated is None
    assert failed[ALL].problems == 1
    json.dumps({name: each.to_json() for name, each in failed.items()}, allow_nan=False)
    assert "nan" not in markdown("nothing", failed, 4)


def test_a_row_with_fewer_responses_is_refused_Z04():
    with pytest.raises(ValueError, match="a/1 has 3 responses, not 4"):
        part([[row("a/1", "RRW")]], samples=4)


def test_a_paired_difference_leaves_the_problems_spread_out():
    """Each problem solved once more of four: +0.25 without any doubt, though the problems are as unlike as can be."""
    first = {"s": [row("s/1", "WWWW"), row("s/2", "RRRW"), row("s/3", "RWWW")]}
    second = {"s": [row("s/3", "RRWW"), row("s/1", "RWWW"), row("s/2", "RRRR")]}
    found = differences(first, second, {})["s"]
    assert (found.problems, found.curve[0].value, found.curve[0].low, found.curve[0].high) == (3, 0.25, 0.25, 0.25)
    assert found.curve[1].value == pytest.approx((1 / 2 + 0 + (5 / 6 - 1 / 2)) / 3)


def test_models_are_compared_on_what_both_were_asked():
    """Of different sample sizes, sets and problems: pass@k up to the smaller size, over the problems in both."""
    first = {"a": [row("a/1", "RRWW"), row("a/2", "WWWW")], "b": [row("b/1", "RRRR")]}
    second = {"a": [row("a/1", "RR"), row("a/9", "RR")], "c": [row("c/1", "RR")]}
    found = differences(first, second, {"u": ["a", "b"]})
    assert list(found) == ["a", ALL]
    assert found["a"].problems == 1 and [each.value for each in found["a"].curve] == pytest.approx([0.5, 1 / 6])
    assert differences({"a": []}, {"a": []}, {}) == {}


def test_tables_and_picture(tmp_path):
    found = results(SETS, {}, {"easy/1": {"level": "1"}}, samples=4)
    lines = markdown("m on s", found, 4).splitlines()
    assert [cell.strip() for cell in lines[2].split("|")[1:6]] == ["set", "problems", "avg@4", "pass@2", "pass@4"]
    assert "| hard " in lines[5] and "0.0 [0.0, 0.0]" in lines[5]
    assert any(line == "## easy by level" for line in lines)
    better = differences({"s": [row("s/1", "WWWW")]}, {"s": [row("s/1", "RWWW")]}, {})
    assert "+25.0 [+25.0, +25.0]" in differences_markdown("a", "b", better)
    picture({name: each.curve for name, each in found.items()}).savefig(tmp_path / "p.png")
    assert (tmp_path / "p.png").read_bytes().startswith(b"\x89PNG")
