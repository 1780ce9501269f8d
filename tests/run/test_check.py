"""`ada check` and a run on a user's own file, as a user starts them: in a process of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from ada.check.coin import score
from ada.check.problems import first_rows
from ada.data.sources import DataError
from ada.data.sources.jsonl import Jsonl
from tests.docs.ways import CHECKED, expanded, of_ada

ROOT = Path(__file__).parents[2]
GSM8K = ROOT.parent / "shared" / "data" / "gsm8k_train_1k.jsonl"


def ada(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {k: v for k, v in os.environ.items() if k not in ("RANK", "LOCAL_RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")}
    return subprocess.run(
        [sys.executable, "-m", "ada", *arguments], cwd=folder, env=environment, capture_output=True, text=True, timeout=280, check=False
    )


@pytest.mark.slow
@pytest.mark.parametrize("command", [CHECKED, "ada check micro_seq_balance"])
def test_a_sound_recipe_passes_within_two_minutes(command: str, tmp_path: Path) -> None:
    began = time.monotonic()
    _, recipe = arguments = of_ada(expanded(command))
    done = ada(*arguments, folder=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert time.monotonic() - began < 120
    assert f"{recipe} is sound" in done.stdout.splitlines()[-1]
    for line in ("weights moved", "sync verified", "metrics finite"):
        assert line in done.stdout
    assert ("memory     GiB on each rank: " in done.stdout) == (recipe == "micro_seq_balance")  # the other's model is not here
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_step_that_cannot_move_the_weights_fails(tmp_path: Path) -> None:
    done = ada("check", "micro_seq_balance", "trainer.learning_rate=0", folder=tmp_path)
    assert done.returncode == 1
    assert "no weight moved" in done.stdout


@pytest.mark.slow
def test_a_wrong_key_is_the_recipes_fault(tmp_path: Path) -> None:
    done = ada("check", "micro_seq_balance", "batch.promts_per_step=4", folder=tmp_path)
    assert done.returncode == 2
    assert "promts_per_step" in done.stderr and "did you mean 'prompts_per_step'" in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("import no_such_module\ndef score(response, answer): return 1.0", "No module named 'no_such_module'"),
        ("def score(response, answer): return 0.0", "reward 0, which is not above reward.threshold = 0.5"),
        ("def score(response, answer): return 1.0", "on an empty response"),
        ("def score(response, answer): return 1 / 0", "failed with ZeroDivisionError"),
    ],
)
def test_a_broken_reward_function_is_told_with_its_reason(source: str, reason: str, tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text(source)
    done = ada("check", "micro_seq_balance", "reward.function=broken:score", folder=tmp_path)
    assert done.returncode == 1, done.stdout + done.stderr
    assert reason in done.stdout
    assert "two steps" not in done.stdout


def test_data_that_is_elsewhere_is_no_mistake_but_a_bad_row_is(tmp_path: Path) -> None:
    assert first_rows(Jsonl(path=str(tmp_path / "none.jsonl")), 4) == []
    (tmp_path / "bad.jsonl").write_text('{"problem": "1+1?"}\n')
    with pytest.raises(DataError, match="no column 'answer'"):
        first_rows(Jsonl(path=str(tmp_path / "bad.jsonl")), 4)


def test_the_coin_is_fair_and_the_same_for_the_same_text() -> None:
    tosses = [score(f"text {i}", "") for i in range(400)]
    assert set(tosses) == {0.0, 1.0} and 140 < sum(tosses) < 260  # six standard deviations of 10
    assert tosses == [score(f"text {i}", "") for i in range(400)]


@pytest.fixture(scope="module")
def tiny_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from ada.check.tiny_model import byte_tokenizer, make_tiny_model

    folder = tmp_path_factory.mktemp("tiny")
    make_tiny_model(folder, "qwen2", byte_tokenizer(), context=1200, seed=0)
    return folder


@pytest.mark.slow
@pytest.mark.skipif(not GSM8K.is_file(), reason="no GSM8K file beside the repository")
@pytest.mark.parametrize(
    ("style", "first", "last"),
    [
        (["data.prompt.style=chat"], "<|im_start|>system\nPlease reason step by step", "<|im_end|>\n<|im_start|>assistant\n"),
        (["data.prompt.style=raw", "data.prompt.system=null", "data.prompt.prefix='Question: '"], "Question: ", "?"),
    ],
)
def test_a_run_on_a_file_of_word_problems(style: list[str], first: str, last: str, tiny_folder: Path, tmp_path: Path) -> None:
    small = ["steps=1", "batch.prompts_per_step=4", "generation.max_prompt_tokens=1100", "generation.max_response_tokens=32"]
    small += ["data.train.limit=8", f"data.train.path={GSM8K}", f"evaluation.sets.test.path={GSM8K}", "evaluation.sets.test.limit=2"]
    small += [
        "trainer.entropy_coefficient=0.1",
        "evaluation.samples=1",
        "tracking.wandb=off",
        f"model.path={tiny_folder}",
        "sampling.schedule.max_draws=4",
        "run_name=gsm8k",
    ]
    done = ada("train", "gsm8k_jsonl", *small, *style, folder=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    run = tmp_path / "runs" / "gsm8k"
    steps = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    assert [step["step"] for step in steps] == [0, 1]
    assert steps[1]["sampling/responses"] == 16  # 4 prompts that a random model never resolves, 4 draws each
    assert_no_op(steps[1], done.stderr, tiny_folder, run / "checkpoints" / "step-000001" / "huggingface")
    problems = {json.loads(line)["problem"] for line in GSM8K.read_text().splitlines()[:8]}
    for sample in map(json.loads, (run / "samples.jsonl").read_text().splitlines()):
        assert sample["prompt"].startswith(first) and sample["prompt"].rstrip(" ").endswith(last)
        assert any(problem in sample["prompt"] for problem in problems)


def assert_no_op(step: dict[str, float | None], said: str, before: Path, after: Path) -> None:
    """A step without a signal: it says so, has no NaN, and leaves the weights alone, though there is an entropy bonus (A06)."""
    assert "step 1: none of 4 prompts has a gradient (0 all right, 4 all wrong): no update is taken" in said
    assert step["signal/zero_gradient_fraction"] == 1 and step["train/tokens"] == step["sampling/trained"] == 0
    assert step["sampling/set_aside"] + step["sampling/dropped"] == 16
    assert step["train/loss"] is step["train/grad_norm"] is None
    weights = [load_file(folder / "model.safetensors") for folder in (before, after)]
    assert all(torch.equal(weights[0][name].bfloat16(), weights[1][name].bfloat16()) for name in weights[0])


@pytest.mark.slow
def test_recipes_of_every_architecture_and_unlike_methods_are_sound_in_one_process():
    names = ["micro_rlzvp", "micro_speed", "llama3b_est_value_net", "qwen4b_gvm_raft"]
    script = str(Path(__file__).with_name("check_recipes.py"))
    environment = {k: v for k, v in os.environ.items() if k not in ("RANK", "LOCAL_RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")}
    done = subprocess.run(
        [sys.executable, script, *names],
        cwd=ROOT,
        env=environment | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    lines = done.stdout.splitlines()
    assert done.returncode == 0, done.stdout + done.stderr
    assert [line.split()[0] for line in lines if line.endswith(": sound")] == names
