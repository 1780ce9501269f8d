"""Two launchers with one rendezvous on this machine, a rank each: what two machines do, by the Makefile's own command."""

from __future__ import annotations

import os
import socket
import subprocess
from pathlib import Path

import pytest

from tests.docs.stand_ins import write_stand_ins
from tests.docs.ways import TWO_MACHINES, expanded
from tests.run.launch import ROOT, metrics

LAUNCHER = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT", "MAKEFLAGS", "MAKELEVEL", "NPROC", "NNODES")
SMALLER = (
    "steps=1 run_name=nodes batch.prompts_per_step=4 generation.max_response_tokens=16 evaluation.samples=1 reward.workers=1 "
    "reward.function=ada.check.coin:score engine=transformers tracking.wandb=off"
)
ENVIRONMENT = {name: value for name, value in os.environ.items() if name not in LAUNCHER}


def make(*variables: str) -> subprocess.CompletedProcess[str]:
    """What `make train` would do; the last line is the command."""
    return subprocess.run(["make", "-n", "train", *variables], cwd=ROOT, env=ENVIRONMENT, capture_output=True, text=True, timeout=60)


def test_several_machines_need_the_address_of_the_first():
    done = make("NNODES=2", "NPROC=1")
    assert done.returncode != 0 and "MASTER_ADDR is empty, but NNODES is 2" in done.stderr


@pytest.mark.parametrize(
    ("variables", "launcher"),
    [
        (["NPROC=1"], ".venv/bin/ada train"),
        (
            ["NPROC=4"],
            ".venv/bin/python -m ada.launch --standalone --shutdown-timeout=300 --no-python --nproc-per-node=4 .venv/bin/ada train",
        ),
        (
            ["NPROC=1", "NNODES=3", "NODE_RANK=2", "MASTER_ADDR=host"],
            ".venv/bin/python -m ada.launch --nnodes=3 --node-rank=2 --master-addr=host --master-port=29500 --shutdown-timeout=300 "
            "--no-python --nproc-per-node=1 .venv/bin/ada train",
        ),
    ],
)
def test_the_launcher_is_what_the_numbers_ask_for(variables, launcher):
    assert make(*variables).stdout.splitlines()[-1].startswith(launcher)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_two_launchers_train_as_one_job(tmp_path: Path):
    """By the commands that docs/training.md has for two machines."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    write_stand_ins(tmp_path)
    (tmp_path / ".venv").symlink_to(ROOT / ".venv")
    commands = [expanded(command, SMALLER, NPROC="1", MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port)) for command in TWO_MACHINES]
    nodes = [
        subprocess.Popen(
            command,
            cwd=tmp_path,
            env=ENVIRONMENT | {"PYTHONPATH": str(ROOT), "HF_HOME": str(tmp_path / "hub"), "HF_HUB_OFFLINE": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for command in commands
    ]
    said = [node.communicate(timeout=500)[0] for node in nodes]
    assert [node.returncode for node in nodes] == [0, 0], said
    assert "on 2 rank(s)" in said[0] + said[1]
    (_, step) = metrics(tmp_path / "runs" / "nodes")
    assert step["train/tokens"] > 0 and step["mismatch/sync_logprob_abs_max"] < 0.02  # in bfloat16
