"""The default recipe, whole: what `make train` promises."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


def test_the_default_recipe_lifts_held_out_accuracy_above_one_half(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "ada", "train", "micro_seq_balance", f"output={tmp_path}", "tracking.wandb=off"]
    subprocess.run(command, check=True, env=os.environ | {"OMP_NUM_THREADS": "1"})

    summary = json.loads((tmp_path / "micro_seq_balance" / "summary.json").read_text())
    assert summary["steps"] == 75
    assert summary["before"]["eval/heldout/avg@8"] == pytest.approx(0.22, abs=0.03)
    assert summary["after"]["eval/heldout/avg@8"] >= 0.55
    steps = [json.loads(line) for line in (tmp_path / "micro_seq_balance" / "metrics.jsonl").read_text().splitlines()]
    assert [step["step"] for step in steps] == list(range(76))
    assert max(step["mismatch/logprob_abs_max"] for step in steps[1:]) <= 1e-4
