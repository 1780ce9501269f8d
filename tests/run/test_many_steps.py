"""What a run holds does not grow with its steps."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
STEPS, WARM = 70, 20


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_tensors_objects_and_memory_are_flat_over_many_steps_Y01(tmp_path):
    command = [sys.executable, "-m", "tests.run.many_steps", str(STEPS), str(tmp_path)]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    held = json.loads(done.stdout.splitlines()[-1])
    assert len(held) == STEPS + 1  # the evaluation before the first step is kept, too
    tensors, objects, resident = zip(*held[WARM:-1], strict=True)  # the last step's evaluation and checkpoint are left out
    half = len(tensors) // 2
    assert max(tensors[half:]) <= max(tensors[:half])
    assert max(objects[half:]) - max(objects[:half]) < 2 * half  # less than two a step: no sequence, no record, no metric is kept
    assert max(resident[half:]) - max(resident[:half]) < 4 * 2**20
