"""A run that is killed, stopped or started again with the same name goes on as if nothing had been, or says why not."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from ada.checkpoint.folder import fault_of, steps_in
from ada.checkpoint.randomness import random_state
from ada.checkpoint.writer import checksum, write_sums
from ada.data.microworld.task import problems
from tests.run.launch import ROOT, left_behind, metrics, samples, start, train, until_step

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

KILLS = 22
STEPS = KILLS + 2
VARYING = ("time/", "throughput/", "memory/", "total/seconds", "checkpoint/")


def told(run: Path) -> list[dict[str, object]]:
    """The metrics that say what was computed."""
    return [{name: value for name, value in row.items() if not name.startswith(VARYING)} for row in metrics(run)]


def known(row: dict[str, object]) -> dict[str, object]:
    return {name: value for name, value in row.items() if value is not None}


def sums(run: Path, step: int) -> list[str]:
    """Checksums of a checkpoint's weights, moments and export."""
    lines = (run / f"checkpoints/step-{step:06d}/SHA256SUMS").read_text().splitlines()
    return [line for line in lines if re.search("  (actor|huggingface)/", line)]


def few_problems() -> str:
    return "".join(json.dumps({"id": p.id, "problem": p.prompt, "answer": p.answer}) + "\n" for p in problems("train")[:12])


def attempts(output: Path, name: str, kills: int) -> list[dict[str, float | None]]:
    (output / "few.jsonl").write_text(few_problems())
    few = f"{{name: jsonl, path: {output}/few.jsonl, id: id}}"
    small = ["batch.prompts_per_step=4", "sampling.schedule.mean_draws=4", "sampling.schedule.max_draws=8", "evaluation.samples=1"]
    small += ["engine=transformers", "tracking.wandb=off", f"data.train={few}", f"evaluation.sets={{heldout: {few}}}"]
    run = [f"steps={STEPS}", "checkpoints.every=1", "checkpoints.keep=2", "evaluation.every=4", "data.selection=mopps"]
    command = [sys.executable, "-m", "tests.run.attempts", "5", str(kills), str(output / name), "micro_est_ema", *small, *run]
    env = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    done = subprocess.run([*command, f"output={output}", f"run_name={name}"], capture_output=True, text=True, env=env, cwd=ROOT)
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["ends"][-1]["code"] == 0, found["log"]
    return found["ends"]


def test_killed_at_any_moment_and_continued_it_is_bit_for_bit_the_run_that_was_not_A04_C01_C07_C09(tmp_path):
    """SIGKILL after random times, and right before random ones of the calls that make files lasting: amidst saving, that is."""
    attempts(tmp_path, "straight", 0)
    ends = attempts(tmp_path, "killed", KILLS)
    assert [end["code"] for end in ends].count(-signal.SIGKILL) >= 20
    straight, killed = tmp_path / "straight", tmp_path / "killed"
    assert told(killed) == told(straight) and [row["step"] for row in told(killed)] == list(range(STEPS + 1))
    assert samples(killed) == samples(straight)
    assert sums(killed, STEPS) == sums(straight, STEPS) and len(sums(killed, STEPS)) >= 6
    assert 2 <= len(steps_in(killed / "checkpoints")) <= 3  # the two newest, and the best
    # Started once more, a run that is done does nothing.
    before = (straight / "metrics.jsonl").read_bytes(), steps_in(straight / "checkpoints")
    attempts(tmp_path, "straight", 0)
    assert ((straight / "metrics.jsonl").read_bytes(), steps_in(straight / "checkpoints")) == before


@pytest.fixture(scope="module")
def by_vllm(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Three steps at one go, and three with a SIGTERM in the second."""
    output = tmp_path_factory.mktemp("runs")
    train(output, "steps=3", "run_name=straight")
    process = start(output, "steps=3", "run_name=stopped")
    until_step(process, 1)
    process.send_signal(signal.SIGTERM)
    sent = time.monotonic()
    said, _ = process.communicate(timeout=60)
    assert time.monotonic() - sent < 30  # checkpoints.grace_seconds, and some for the end of the process
    assert process.returncode == 0, said
    assert "run_name=stopped goes on from here" in said and left_behind(output, seconds=2) == []
    (step,) = steps_in(output / "stopped/checkpoints")
    assert step in (1, 2) and fault_of(output / f"stopped/checkpoints/step-{step:06d}") is None
    again = train(output, "steps=3", "run_name=stopped")
    assert f"Going on with {output}/stopped/checkpoints/step-{step:06d}" in again
    return output / "straight", output / "stopped"


def test_stopped_and_continued_vllm_draws_the_same_C07(by_vllm):
    straight, stopped = by_vllm
    assert samples(stopped) == samples(straight)
    assert [row["step"] for row in metrics(stopped)] == [0, 1, 2, 3]
    for one, two in zip(told(straight), told(stopped), strict=True):
        assert {name for name in one if one[name] is None} == {name for name in two if two[name] is None}
        assert known(one) == pytest.approx(known(two), rel=1e-5, abs=1e-6)
    pools = [(run / "pools.jsonl").read_text() for run in by_vllm]
    assert pools[0] == pools[1]


def test_time_goes_on(by_vllm):
    seconds = [row["total/seconds"] for row in metrics(by_vllm[1])[1:]]
    assert seconds == sorted(seconds) and len(seconds) == 3


def test_another_recipe_under_the_same_name_is_refused_with_its_keys(by_vllm):
    run = by_vllm[1]
    before = (run / "metrics.jsonl").read_bytes()
    process = start(run.parent, "steps=3", "run_name=stopped", "trainer.learning_rate=0.5")
    said, _ = process.communicate(timeout=200)
    assert process.returncode == 2
    assert "trainer.learning_rate = 0.5 (the run has 0.0001)" in said and "resume=changed" in said and "Traceback" not in said
    assert (run / "metrics.jsonl").read_bytes() == before


def give_generators(checkpoint: Path, ranks: int) -> list[dict[str, object]]:
    """States of the global generators, other ones for each rank, put into a checkpoint."""
    states = []
    digests = dict(reversed(line.split("  ")) for line in (checkpoint / "SHA256SUMS").read_text().splitlines())
    for rank in range(ranks):
        own = {"python": random.Random(rank).getstate(), "torch": torch.Generator().manual_seed(rank).get_state()}
        states.append(random_state() | own)
        torch.save(states[-1], checkpoint / f"random-{rank:05d}.pt")
        digests[f"random-{rank:05d}.pt"] = checksum(checkpoint / f"random-{rank:05d}.pt")
    write_sums(checkpoint, digests)
    return states


def test_two_ranks_go_on_where_one_was_each_with_its_own_generators_C08(by_vllm):
    """With one step more than it had: its draws are those that one rank would have made. No step draws from the global generators, so
    that at its end they are as they were restored."""
    straight, stopped = by_vllm
    states = give_generators(stopped / "checkpoints/step-000003", ranks=2)
    train(straight.parent, "steps=4", "run_name=stopped", ranks=2)
    train(straight.parent, "steps=4", "run_name=straight")
    one, two = (told(run)[4] for run in by_vllm)
    for name in ("reward/mean", "sampling/responses", "train/tokens", "total/generated_tokens"):
        assert one[name] == two[name], name
    weights = [load_file(run / "checkpoints/step-000004/huggingface/model.safetensors") for run in by_vllm]
    for name, w in weights[0].items():
        torch.testing.assert_close(weights[1][name], w, atol=2e-4, rtol=1e-3)
    for rank, state in enumerate(states):
        after = torch.load(stopped / f"checkpoints/step-000004/random-{rank:05d}.pt", weights_only=True)
        assert after["python"] == state["python"] and torch.equal(after["torch"], state["torch"])


def test_must_needs_a_run_C06(tmp_path):
    process = start(tmp_path, "run_name=nobody", "resume=must")
    said, _ = process.communicate(timeout=200)
    assert process.returncode == 2 and "there is no such run to continue" in said and list(tmp_path.iterdir()) == []


def test_a_value_network_stopped_and_continued_believes_what_it_would_have(tmp_path):
    """Two runs of four steps, one of them by two processes: network and moments come back, and so all that follows from beliefs."""
    (tmp_path / "few.jsonl").write_text(few_problems())
    few = f"{{name: jsonl, path: {tmp_path}/few.jsonl, id: id}}"
    small = ["batch.prompts_per_step=4", "sampling.schedule.mean_draws=4", "sampling.schedule.max_draws=8", "evaluation.every=1"]
    small += ["engine=transformers", f"data.train={few}", f"evaluation.sets={{heldout: {few}}}", "evaluation.samples=1"]
    for name, steps in (("straight", 4), ("stopped", 2), ("stopped", 4)):
        train(tmp_path, *small, f"steps={steps}", f"run_name={name}", recipe="micro_est_value_net", shortened=False)
    straight, stopped = tmp_path / "straight", tmp_path / "stopped"
    pools = [[json.loads(line) for line in (run / "pools.jsonl").read_text().splitlines()] for run in (straight, stopped)]
    assert set(pools[0][0]["beliefs"]) == {0.5} and 0.5 not in pools[0][2]["beliefs"]  # it had learned when it was stopped
    assert pools[0] == pools[1] and told(stopped) == told(straight) and samples(stopped) == samples(straight)
    assert sums(stopped, 4) == sums(straight, 4) and len(sums(straight, 4)) >= 6
