"""The states that a value network reads, on one rank and on two: those of transformers, and the same beliefs on every rank."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from tests.trainer.plain import load

ROOT = Path(__file__).parents[2]
SCRIPT = Path(__file__).with_name("prompt_states_of_ranks.py")
pytestmark = pytest.mark.slow


def found(model: Path, folder: Path, ranks: int) -> list[dict]:
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={ranks}"]
    env = {k: v for k, v in os.environ.items() if k not in ("RANK", "LOCAL_RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")}
    env |= {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [*launcher, str(SCRIPT), str(model), str(folder)], env=env, cwd=ROOT, capture_output=True, text=True, timeout=280, check=False
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return [json.loads((folder / f"{ranks}-{rank}.json").read_text()) for rank in range(ranks)]


def test_states_are_those_of_transformers_and_ranks_agree(tiny_model, tmp_path):
    first, second = found(tiny_model, tmp_path, 2)
    assert first == second  # to the last bit
    assert first["beliefs"][0] == [0.5] * 7 and len(set(first["beliefs"][2])) == 7
    with torch.no_grad():
        for ids, state in zip(first["prompts"], first["states"], strict=True):
            states_TH = load(tiny_model).model(torch.tensor([ids])).last_hidden_state[0]
            torch.testing.assert_close(torch.tensor(state), torch.cat([states_TH[-1], states_TH.mean(0)]), atol=1e-4, rtol=1e-4)
    (alone,) = found(tiny_model, tmp_path, 1)
    torch.testing.assert_close(torch.tensor(alone["states"]), torch.tensor(first["states"]), atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(torch.tensor(alone["beliefs"]), torch.tensor(first["beliefs"]), atol=1e-4, rtol=1e-4)
