"""`ada plan` and `ada simulate` as a person runs them, and their tables on a terminal and away from one."""

from __future__ import annotations

import csv
import json
import re

import pytest

from ada.cli import main
from ada.cli.table import print_table


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
        (("micro_seq_balance", "--pass-rates", "nowhere"), "neither a law such as beta(0.5,1.5), nor a file, nor a run"),
    ],
)
def test_plan_says_what_is_wrong_and_exits_with_2(capsys, arguments, complaint):
    code, _, err = run(capsys, "plan", *arguments)
    assert code == 2 and complaint in err and "Traceback" not in err


def test_plan_takes_pass_rates_and_costs_from_a_run(capsys, tmp_path):
    """Two prompts at their last visit: 5 of 10 and 50 of 100 right, so p = 1/2 whatever the law; 2 s and 1 s a response, 7 tokens."""
    run_folder = tmp_path / "a-run"
    run_folder.mkdir()
    (run_folder / "recipe.yaml").write_text("{}")
    both = {"prompts": ["a", "b"], "outcomes": ["exhausted"] * 2, "beliefs": [None] * 2}
    pools = [{"step": 1, "verdicts": ["W" * 40, "R"], **both}, {"step": 2, "verdicts": ["RW" * 100, "RWF" * 100], **both}]
    first = {
        "step": 1,
        "time/rollout": 1e6,
        "time/update": 1e6,
        "sampling/responses": 1,
        "sampling/trained": 1,
        "completions/mean_length": 1,
    }
    later = {"time/rollout": 80.0, "time/update": 10.0, "sampling/responses": 30, "sampling/surplus_draws": 10, "sampling/trained": 10}
    steps = [{"step": 0}, first, {"step": 2, "completions/mean_length": 7.0, **later}]
    for file, rows in (("pools.jsonl", pools), ("metrics.jsonl", steps)):
        (run_folder / file).write_text("".join(json.dumps(row) + "\n" for row in rows))
    code, out, error = run(capsys, "plan", "micro_grpo_n8", "--pass-rates", str(run_folder))
    assert code == 0, error
    assert cells(out)["GRPO-n4"] == ["4.00", "0.125", "0.000", "4.00", "896", "1.00x"]
    assert cells(out)["Seq-pos"][0] == "8.03"  # 8 (1 + 2^-8 + ...)
    assert "256 s of generation and 128 s of update" in out  # 32 prompts, 4 responses each
    found = run(capsys, "simulate", "micro_est_ema", "--pass-rates", str(run_folder))[1]
    assert "0.125" in found


def test_simulate_draws_the_curves(capsys, tmp_path):
    for ending, begins in ((".png", b"\x89PNG"), (".svg", b"<?xml")):
        file = tmp_path / f"curves{ending}"
        code, _, _ = run(capsys, "simulate", "micro_seq_balance", "--plot", str(file))
        assert code == 0 and file.read_bytes().startswith(begins)
    assert all(label in (tmp_path / "curves.svg").read_text() for label in ("GRPO-n4", "Seq-balance+DAPO", "micro_seq_balance"))
    code, _, told = run(capsys, "simulate", "micro_seq_balance", "--plot", str(tmp_path / "curves.txt"))
    assert code == 2 and "its ending must be one of" in told


def test_simulate_writes_the_curves(capsys, tmp_path):
    output = tmp_path / "curves.csv"
    code, out, _ = run(capsys, "simulate", "micro_seq_balance", "--output", str(output))
    with output.open() as file:
        rows = {round(float(row["pass_rate"]), 2): row for row in csv.DictReader(file)}
    assert code == 0 and len(rows) == 101
    assert float(rows[0.5]["GRPO-n4 zero_gradient"]) == pytest.approx(1 / 8)
    assert float(rows[0.1]["Seq-pos draws"]) == pytest.approx(8 * sum(0.9 ** (8 * i) for i in range(4)))
    assert float(rows[0.0]["micro_seq_balance draws"]) == pytest.approx(32)
    dapo = {p: (float(row["DAPO draws"]), float(row["DAPO zero_gradient"])) for p, row in rows.items()}
    assert dapo[0.5] == pytest.approx((4 / (7 / 8), 0)) and dapo[0.0] == pytest.approx((40, 1))  # refills; in vain, ten times as many
    assert "p  " in out and "0.125" in out


def test_nothing_is_cut_off_in_a_narrow_terminal(monkeypatch, capsys):
    """No ellipsis, and every heading and cell in full, headings perhaps in pieces below each other."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "80")
    columns = ("sampler", "responses/prompt", "zero gradient", "recovered", "trained/prompt", "tokens/step", "step time")
    print_table(columns, [["Seq-balance+DAPO", "21.84", "0.000", "0.418", "4.00", "14k", "4.81x"]] * 2, highlight=None)
    said = re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out)
    assert "\u2026" not in said and max(map(len, said.splitlines())) <= 80
    assert all(word in said.split() for word in ("responses/", "prompt", "trained/", "tokens/", "Seq-balance+DAPO", "21.84", "4.81x"))
