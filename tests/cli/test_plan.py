"""`ada plan` and `ada simulate` as a person runs them, away from a terminal."""

from __future__ import annotations

import csv

import pytest

from ada.cli import main


def run(capsys, *arguments):
    with pytest.raises(SystemExit) as ended:
        main(list(arguments))
    return ended.value.code or 0, *capsys.readouterr()


def cells(text):
    return {words[0]: words[1:] for words in map(str.split, text.splitlines()) if words}


def test_plan_at_one_pass_rate(capsys, tmp_path):
    """All at p = 1/2: GRPO-n4 is all alike in 1/8, n8 in 1/128; of 32 prompts and 10 tokens a response, 1,280 and 2,560 tokens."""
    rates = tmp_path / "rates.txt"
    rates.write_text("0.5\n0.5\n")
    code, out, _ = run(capsys, "plan", "micro_grpo_n8", "--pass-rates", str(rates), "--mean-tokens", "10")
    found = cells(out)
    assert code == 0
    assert found["GRPO-n4"] == ["4.00", "0.125", "0.000", "4.00", "1.28k", "1.00x"]
    assert found["GRPO-n8"] == found["micro_grpo_n8"] == ["8.00", "0.008", "0.117", "8.00", "2.56k", "2.00x"]


def test_plan_takes_costs_and_recipe_keys(capsys):
    """Every sampler of prompts never right draws its most. With an update that costs nothing, time goes with the draws."""
    arguments = ("micro_seq_balance", "sampling.schedule.max_draws=12", "--generation-seconds", "1", "--update-seconds", "1e-12")
    code, out, _ = run(capsys, "plan", *arguments, "--pass-rates", "beta(1e-6,1)")
    assert (code, cells(out)["micro_seq_balance"][0], cells(out)["micro_seq_balance"][-1]) == (0, "12.00", "3.00x")


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("micro_seq_balance", "--pass-rates", "beta(0,1)"), "must be above 0"),
        (("micro_seq_balance", "--pass-rates", "beta(1,1)", "--mean-tokens", "0"), "--mean-tokens is 0.0; it must be above 0"),
        (("micro_seq_balanse", "--pass-rates", "beta(1,1)"), "micro_seq_balance"),
    ],
)
def test_plan_says_what_is_wrong_and_exits_with_2(capsys, arguments, complaint):
    code, _, err = run(capsys, "plan", *arguments)
    assert code == 2 and complaint in err and "Traceback" not in err


def test_simulate_writes_the_curves(capsys, tmp_path):
    output = tmp_path / "curves.csv"
    code, out, _ = run(capsys, "simulate", "micro_seq_balance", "--output", str(output))
    with output.open() as file:
        rows = {round(float(row["pass_rate"]), 2): row for row in csv.DictReader(file)}
    assert code == 0 and len(rows) == 101
    assert float(rows[0.5]["GRPO-n4 zero_gradient"]) == pytest.approx(1 / 8)
    assert float(rows[0.1]["Seq-pos draws"]) == pytest.approx(8 * sum(0.9 ** (8 * i) for i in range(4)))
    assert float(rows[0.0]["micro_seq_balance draws"]) == pytest.approx(32)
    assert "p  " in out and "0.125" in out
