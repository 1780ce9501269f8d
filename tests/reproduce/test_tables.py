"""From run folders to tables, with runs made by hand."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from ada.reproduce.claims import verdict
from ada.reproduce.comparison import Difference, compare, difference
from ada.reproduce.experiment import Experiment, Method
from ada.reproduce.experiments.paper import CLAIMS, METHODS
from ada.reproduce.outcome import common_budget, read_outcome
from ada.reproduce.page import write_page
from ada.reproduce.runs import finished


def write_run(path: Path, accuracies: dict[int, float], tokens_a_step: int, cpu_a_step: float) -> Path:
    """Evaluated at the steps of `accuracies`."""
    path.mkdir(parents=True)
    rows = []
    for step in range(max(accuracies) + 1):
        row: dict[str, float] = {"step": step}
        if step:
            row |= {"total/generated_tokens": step * tokens_a_step, "time/cpu": cpu_a_step, "reward/first_n": 0.25, "train/entropy": 0.5}
            row |= {"signal/zero_gradient_fraction": 0.5, "sampling/responses": 128, "train/grad_norm": 1.0}
        if step in accuracies:
            row |= {"eval/heldout/avg@8": accuracies[step], "eval/heldout/pass@8": accuracies[step] + 0.1, "time/eval": 99.0}
        rows.append(row)
    (path / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_accuracy_lies_between_evaluations_on_every_axis(tmp_path):
    outcome = read_outcome(write_run(tmp_path / "a", {0: 0.2, 10: 0.4, 20: 0.5}, 100, 2.0), "a", 0)
    assert outcome.accuracy_at("updates", 5) == pytest.approx(0.3)
    assert outcome.accuracy_at("tokens", 1500) == pytest.approx(0.45)
    assert outcome.accuracy_at("seconds", 40.0) == pytest.approx(0.5)
    with pytest.raises(ValueError, match="trained for 20 updates, less than 21"):
        outcome.accuracy_at("updates", 21)


def test_the_common_budget_is_what_the_thriftiest_run_spent(tmp_path):
    outcomes = [
        read_outcome(write_run(tmp_path / name, {0: 0.2, 10: 0.4}, tokens, cpu), name, 0)
        for name, tokens, cpu in (("a", 100, 3.0), ("b", 500, 2.0))
    ]
    assert common_budget(outcomes, "tokens") == 1000 and common_budget(outcomes, "seconds") == 20.0


def test_differences_are_paired_by_seed():
    """Seeds 1 and 2 are in both: differences .1 and .3, mean .2, standard error .1, t = 2 with one degree of freedom."""
    found = difference({0: 0.9, 1: 0.5, 2: 0.8}, {1: 0.4, 2: 0.5, 3: 0.1})
    assert found is not None
    assert found.mean == pytest.approx(0.2) and found.error == pytest.approx(0.1) and found.pairs == 2
    assert found.p == pytest.approx(1 - 2 * math.atan(2.0) / math.pi)  # Student's t with one degree of freedom is Cauchy's law
    assert difference({0: 0.9}, {0: 0.4}) is None


def test_two_pairs_that_differ_by_the_same_prove_nothing():
    found = difference({0: 0.75, 1: 0.5}, {0: 0.5, 1: 0.25})
    assert found is not None and (found.mean, found.error) == (0.25, 0.0) and math.isnan(found.p)
    assert verdict(found) == "not decided"


def test_standings_give_mean_and_standard_error(tmp_path):
    outcomes = [
        read_outcome(write_run(tmp_path / f"{method}{seed}", {0: 0.2, 10: end}, 100, 1.0), method, seed)
        for method, ends in (("GRPO-n4", (0.4, 0.6)), ("Seq-balance", (0.5, 0.8)))
        for seed, end in enumerate(ends)
    ]
    grpo, seq = compare(outcomes, "updates", 10, ("GRPO-n4",)).standings
    assert (grpo.mean, grpo.error) == (pytest.approx(0.5), pytest.approx(0.1))
    assert grpo.against == {"GRPO-n4": None}
    assert seq.against["GRPO-n4"].mean == pytest.approx(0.15)


@pytest.mark.parametrize(
    ("mean", "p", "expected"),
    [(0.1, 0.01, "holds"), (-0.1, 0.01, "does not hold: the other way round"), (0.1, 0.2, "not decided"), (0.0, np.nan, "not decided")],
)
def test_a_claim_is_decided_by_the_sign_and_the_test(mean, p, expected):
    assert verdict(Difference(mean, 0.01, p, 5)) == expected


def test_the_page_shows_every_method_and_its_figures(tmp_path):
    methods = (METHODS[0], Method("Seq-balance", "micro_seq_balance", prototype=(0.9, 0.05)), Method("<new>", "micro_new"))
    outcomes = [
        read_outcome(
            write_run(tmp_path / f"{method.recipe}{seed}", {0: 0.2, 50: 0.5 + 0.1 * place + 0.01 * seed * place}, 100, 1.0),
            method.name,
            seed,
        )
        for place, method in enumerate(methods)
        for seed in (0, 1)
    ]
    page = tmp_path / "out" / "page.md"
    some = Experiment("some", "Some", methods, (0, 1), 1.0, ("GRPO-n4",), CLAIMS, columns={"reward": "reward/first_n", "none": "no/such"})
    write_page(outcomes, some, "make reproduce", page)
    text = page.read_text()
    assert "| Seq-balance | 0.605 ± 0.005 | +0.105 ± 0.005 (p 0.03) |" in text
    assert "| Seq-balance learns more than GRPO-n4 per update | +0.105 ± 0.005 (p 0.03) | holds |" in text
    assert f"| Seq-balance | 0.605 ± 0.005 | 0.900 ± 0.050 | {(0.605 - 0.9) / math.hypot(0.05, 0.005):+.1f} | -2.8 |" in text
    assert "share a shift of -0.157" in text  # of the differences 0.500 - 0.518 and 0.605 - 0.900 the mean; -0.295 + 0.1565 is -2.8 errors
    assert "| reward | none |" in text and "| 0.250 ± 0.000 | – |" in text
    for line in text.splitlines():
        if line.startswith("!["):
            assert (page.parent / line[line.index("(") + 1 : -1]).read_text().startswith("<?xml")


def test_a_run_is_finished_when_its_summary_says_so(tmp_path):
    method = Method("a", "micro_grpo_n4", 5)
    assert not finished(tmp_path, method)
    for steps, stopped_by, expected in ((5, None, True), (6, None, True), (4, None, False), (5, "SIGTERM", False)):
        (tmp_path / "summary.json").write_text(json.dumps({"steps": steps, "stopped_by": stopped_by}))
        assert finished(tmp_path, method) is expected
