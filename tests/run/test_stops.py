"""How a whole job of two ranks ends when one of them hangs, is stopped or dies, when it is told to end, and when it learns nothing."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from ada.checkpoint.folder import fault_of, steps_in
from tests.run.launch import left_behind, metrics, ranks_of, start, until_step

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

SMALL = ["engine=transformers", "steps=1000", "run_name=mine", "evaluation.samples=1", "sampling.schedule.max_draws=8"]
LOST_SECONDS, HANG_SECONDS = 20, 20
LIMIT_SECONDS = LOST_SECONDS + 1 + 1 + 2 * 3 + 12  # to be found, to end by itself, to leave stacks, and some for a busy machine


def ended(process: subprocess.Popen[str], since: float) -> str:
    said, _ = process.communicate(timeout=120)
    assert time.monotonic() - since < LIMIT_SECONDS, said
    assert process.returncode == 1, said
    return said


def stacks(run: Path, rank: int) -> str:
    return (run / f"stacks-rank-{rank}.txt").read_text()


@pytest.mark.parametrize(
    ("number", "cause", "leave_stacks"),
    [(signal.SIGKILL, "is gone without a word", [0]), (signal.SIGSTOP, "has given no sign of life for", [0, 1])],
)
def test_a_rank_that_is_gone_or_stopped_ends_the_job_which_says_so_with_all_stacks_D03(tmp_path, number, cause, leave_stacks):
    process = start(tmp_path, *SMALL, f"watch.lost_seconds={LOST_SECONDS}", ranks=2)
    until_step(process, 1)
    rank = ranks_of(tmp_path)[1]
    os.kill(rank, number)
    said = ended(process, time.monotonic())
    assert f"error: the job ends: rank 1 (process {rank} on " in said and cause in said, said
    for left in leave_stacks:
        assert "most recent call first" in stacks(tmp_path / "mine", left) and "ada/" in stacks(tmp_path / "mine", left)
    assert left_behind(tmp_path, seconds=2) == []


def test_a_rank_that_hangs_ends_the_job_with_all_stacks_D03(tmp_path):
    """Ranks that came to the update at the same moment cannot be told apart but by their stacks."""
    process = start(tmp_path, *SMALL, f"watch.hang_seconds={HANG_SECONDS}", ranks=2, program="tests.run.hanging_rank")
    said, _ = process.communicate(timeout=300)
    assert process.returncode == 1, said
    assert "error: the job ends: rank " in said and " has got no further for" in said and "while updating the policy" in said
    assert "in a_call_that_never_comes_back" in stacks(tmp_path / "mine", 1) and "in update" in stacks(tmp_path / "mine", 0)
    assert left_behind(tmp_path, seconds=2) == []


def test_sigterm_to_the_launcher_saves_and_ends_it_with_0_in_time(tmp_path):
    process = start(tmp_path, *SMALL, ranks=2)
    until_step(process, 1)
    process.send_signal(signal.SIGTERM)
    sent = time.monotonic()
    said, _ = process.communicate(timeout=60)
    assert time.monotonic() - sent < 7 + 3, said  # checkpoints.grace_seconds of the recipe, and some for the end of the processes
    assert process.returncode == 0, said
    assert "run_name=mine goes on from here" in said and "Traceback" not in said and "error" not in said
    (step,) = steps_in(tmp_path / "mine/checkpoints")
    assert step >= 1 and fault_of(tmp_path / f"mine/checkpoints/step-{step:06d}") is None
    assert left_behind(tmp_path, seconds=2) == [] and not list((tmp_path / "mine").glob("stacks-*"))


def test_losses_that_are_never_finite_end_the_run_with_the_batches_and_what_to_do(tmp_path):
    """An entropy bonus with a weight that is more than a float32 holds."""
    process = start(tmp_path, *SMALL, "trainer.entropy_coefficient=1e39", "trainer.not_finite_in_a_row=3")
    said, _ = process.communicate(timeout=300)
    run = tmp_path / "mine"
    assert process.returncode == 1 and "Traceback" not in said, said
    assert "error: loss or gradient was not finite in 3 updates in a row (trainer.not_finite_in_a_row = 3)" in said
    files = sorted(path.name for path in (run / "not-finite").iterdir())
    assert files == ["step-000001-update-1.json", "step-000001-update-2.json", "step-000002-update-1.json"]  # two updates a step
    assert f"{run / 'not-finite' / files[-1]}" in said and "run_name=mine resume=changed" in said
    sequences = [json.loads((run / "not-finite" / name).read_text())["sequences"] for name in files]
    assert all(sequence["response_ids"] for part in sequences for sequence in part) and all(sequences)
    assert metrics(run)[1]["train/not_finite_updates"] == 2
    assert left_behind(tmp_path, seconds=2) == []
