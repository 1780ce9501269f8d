"""The default recipe, whole: what `make train` promises."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.run.launch import metrics, train

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


def test_the_default_recipe_lifts_held_out_accuracy_above_one_half(tmp_path: Path) -> None:
    train(tmp_path, shortened=False)
    run = tmp_path / "micro_seq_balance"
    summary = json.loads((run / "summary.json").read_text())
    assert summary["steps"] == 75
    assert summary["before"]["eval/heldout/avg@8"] == pytest.approx(0.22, abs=0.03)
    assert summary["after"]["eval/heldout/avg@8"] >= 0.55
    steps = metrics(run)
    assert [step["step"] for step in steps] == list(range(76))
    assert max(step["mismatch/logprob_abs_max"] for step in steps[1:]) <= 1e-4
