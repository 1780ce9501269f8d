"""Two ranks as torchrun starts them: the same step as one rank, and an end for all of them where one fails."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from ada.data.microworld import BASE
from tests.docs.ways import ONE_ENGINE, expanded
from tests.run.launch import ROOT, SHORT, left_behind, metrics, samples, start, train, without_launcher

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

ONE_UPDATE = ["steps=1", "batch.updates_per_step=1"]
DRAWN = ("reward/mean", "sampling/responses", "sampling/rounds", "signal/zero_gradient_fraction", "train/tokens", "total/generated_tokens")
FAULTY = """
import os

if os.environ["RANK"] == "1":
    raise RuntimeError("nothing works here")

def score(response, answer):
    return 1.0
"""
WEIGHTS = "checkpoints/step-000001/huggingface/model.safetensors"


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    output = tmp_path_factory.mktemp("runs")
    for ranks in (1, 2):
        train(output, *ONE_UPDATE, f"run_name=of-{ranks}", ranks=ranks)
    return output / "of-1", output / "of-2"


@pytest.fixture(scope="module")
def shared(runs: tuple[Path, Path]) -> Path:
    """The same run by two ranks that hold one engine together: the command of docs/training.md, for a smaller model on fewer GPUs."""
    keys = [*SHORT, *ONE_UPDATE, f"output={runs[0].parent}", "run_name=shared", "tracking.wandb=off"]
    command = expanded(ONE_ENGINE, " ".join(keys), RECIPE="micro_seq_balance", NPROC="2")
    done = subprocess.run(command, cwd=ROOT, env=without_launcher(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert done.returncode == 0, done.stdout[-4000:]
    return runs[0].parent / "shared"


def test_two_ranks_with_one_engine_draw_and_learn_what_one_rank_does(runs, shared):
    """To the token. What is trained on is then the same, and so are the weights of two ranks with an engine each, bit for bit."""
    assert samples(shared) == samples(runs[0])
    assert (shared / "pools.jsonl").read_text() == (runs[0] / "pools.jsonl").read_text()
    (base, one), (our_base, ours) = metrics(runs[0]), metrics(shared)
    assert base["eval/heldout/avg@1"] == our_base["eval/heldout/avg@1"]
    for name in DRAWN:
        assert one[name] == ours[name], name
    assert 0 < ours["mismatch/sync_logprob_abs_max"] <= 1e-4
    ours, two = load_file(shared / WEIGHTS), load_file(runs[1] / WEIGHTS)
    assert ours.keys() == two.keys() and all(torch.equal(ours[name], two[name]) for name in two)


def test_two_ranks_draw_what_one_rank_draws_E02(runs):
    of_one, of_two = (samples(run) for run in runs)
    assert of_one == of_two and len(of_one) == 8
    one, two = (metrics(run)[1] for run in runs)
    for name in DRAWN:
        assert one[name] == two[name], name
    assert metrics(runs[0])[0]["eval/heldout/avg@1"] == metrics(runs[1])[0]["eval/heldout/avg@1"]


def test_two_ranks_come_to_the_weights_of_one_rank(runs):
    """Adam's first step is about learning_rate * sign(gradient), so a gradient of rounding errors alone may point either way."""
    one, two = (load_file(run / WEIGHTS) for run in runs)
    base = load_file(BASE / "model.safetensors")
    assert one.keys() == two.keys()
    for name in one:
        assert (one[name] - two[name]).norm() <= 1e-4 * one[name].norm(), name
    moved, apart = (torch.stack([(one[n] - other[n]).norm() for n in one]).norm() for other in (base, two))
    assert apart <= 1e-3 * moved
    first, second = (metrics(run)[1] for run in runs)
    for name in ("train/loss", "train/grad_norm", "train/entropy"):
        assert first[name] == pytest.approx(second[name], rel=1e-4, abs=1e-6), name


def test_a_fault_of_one_rank_ends_the_job_with_its_cause_D03(tmp_path):
    """The reward function cannot be imported on rank 1, which finds out before rank 0 gets to wait for it in the actor."""
    (tmp_path / "ada_test_reward.py").write_text(FAULTY)
    recipe = tmp_path / "own.yaml"
    recipe.write_text("extends: micro_seq_balance\nengine: transformers\nreward: {function: ada_test_reward:score}\n")
    began = time.monotonic()
    process = start(tmp_path / "runs", ranks=2, recipe=str(recipe))
    said = ""
    for line in process.stdout:
        said += line
        if "nothing works here" in line:
            began = time.monotonic()
    process.wait(timeout=60)
    assert time.monotonic() - began < 30
    assert process.returncode != 0
    assert "error on rank 1: reward function ada_test_reward:score" in said and "nothing works here" in said
    assert left_behind(tmp_path / "runs", seconds=2) == []
