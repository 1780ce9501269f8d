"""Runs whose prompts stay open across steps: on one rank to the bit, killed or not, and on two."""

from __future__ import annotations

import json
import re
import shutil
import signal
from collections import Counter
from pathlib import Path

import pytest
import torch

from tests.run.launch import metrics, start, train, until_step

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

RECIPE = "micro_seq_balance_streaming"
SMALL = ["batch.prompts_per_step=6", "evaluation.samples=1", "engine=transformers", "checkpoints.every=1", "engine.max_concurrent=24"]
VARYING = ("time/", "throughput/", "memory/", "total/seconds", "checkpoint/", "streaming/")


def run(output: Path, name: str, *changes: str, **keys) -> Path:
    train(output, *SMALL, f"run_name={name}", *changes, recipe=RECIPE, **keys)
    return output / name


def told(path: Path) -> list[dict[str, object]]:
    return [{name: value for name, value in row.items() if not name.startswith(VARYING)} for row in metrics(path)]


def sums(path: Path, step: int) -> list[str]:
    """Checksums of a checkpoint's weights, moments and export."""
    lines = (path / f"checkpoints/step-{step:06d}/SHA256SUMS").read_text().splitlines()
    return [line for line in lines if re.search("  (actor|huggingface)/", line)]


def pools(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in (path / "pools.jsonl").read_text().splitlines()]


def test_open_1_is_the_on_policy_run_to_the_bit(tmp_path):
    one = run(tmp_path, "one", "steps=2", "sampling.streaming.open=1")
    none = run(tmp_path, "none", "steps=2", "sampling.streaming=null")
    assert told(one) == told(none) and sums(one, 2) == sums(none, 2) and pools(one) == pools(none)
    assert [row["streaming/open"] for row in metrics(one)[1:]] == [0, 0]


@pytest.fixture(scope="module")
def straight(tmp_path_factory) -> Path:
    return run(tmp_path_factory.mktemp("runs"), "straight", "steps=4")


def test_tokens_of_older_weights_are_trained_on(straight):
    _, first, *later = metrics(straight)
    assert first["streaming/stale_token_fraction"] == 0 and first["streaming/open"] == 3
    assert any(row["streaming/stale_token_fraction"] > 0 for row in later), "this seed carries nothing on: take another"
    ratios = [row["replay/log_ratio_abs_mean"] for row in later if "replay/log_ratio_abs_mean" in row]  # where an update was taken on them
    assert ratios and min(ratios) > 1e-5  # the weights have moved since
    for row in later:
        assert row["streaming/open"] == 3 and row["streaming/dropped"] == 0
        assert (row["streaming/staleness_max"] > 0) == (row["streaming/stale_token_fraction"] > 0)
        assert row["mismatch/logprob_abs_max"] <= 1e-4  # of the step's own tokens
        assert row["sampling/trained"] + row["sampling/set_aside"] + row["sampling/dropped"] == row["sampling/responses"]


def test_killed_and_continued_it_is_the_run_that_was_not(straight):
    """Bit for bit, with verdicts by the engine's clock."""
    process = start(straight.parent, *SMALL, "run_name=killed", "steps=4", recipe=RECIPE)
    until_step(process, 2)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    killed = run(straight.parent, "killed", "steps=4")
    assert told(killed) == told(straight) and sums(killed, 4) == sums(straight, 4) and pools(killed) == pools(straight)


def test_two_ranks_go_on_with_what_one_left_open(straight):
    """Which prompts are through first may differ; none is lost, and none is trained on twice."""
    two = straight.parent / "two"
    shutil.copytree(straight, two)
    state = torch.load(two / "checkpoints/step-000004/state.pt", weights_only=True)
    left = [row["pool"]["prompt"]["id"] for row in state["parts"]["streaming"]["open"]]
    assert len(left) == 3
    run(straight.parent, "two", "steps=6", ranks=2)
    rows = pools(two)
    trained = Counter(id for row in rows for id in row["prompts"])
    state = torch.load(two / "checkpoints/step-000006/state.pt", weights_only=True)
    open_now = [row["pool"]["prompt"]["id"] for row in state["parts"]["streaming"]["open"]]
    assert max(trained.values()) == 1 and sum(trained.values()) == 36 and not {*open_now} & {*trained}
    assert all(trained[id] or id in open_now for id in left)
    assert any(id in rows[4]["prompts"] + rows[5]["prompts"] for id in left)
