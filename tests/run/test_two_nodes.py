"""Two launchers with one rendezvous on this machine, a rank each: what two machines do, by the Makefile's own command."""

from __future__ import annotations

import os
import socket
import subprocess
from pathlib import Path

import pytest

from tests.run.launch import ROOT, SHORT, metrics

LAUNCHER = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT", "MAKEFLAGS", "MAKELEVEL", "NPROC", "NNODES")
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
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    overrides = " ".join([*SHORT, "steps=1", "engine=transformers", f"output={tmp_path}", "run_name=nodes"])
    commands = [
        make("NPROC=1", "NNODES=2", f"NODE_RANK={node}", "MASTER_ADDR=127.0.0.1", f"MASTER_PORT={port}", f"ARGS={overrides}")
        .stdout.splitlines()[-1]
        .split()
        for node in (0, 1)
    ]
    nodes = [
        subprocess.Popen(
            command, cwd=ROOT, env=ENVIRONMENT | {"PYTHONPATH": str(ROOT)}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        for command in commands
    ]
    said = [node.communicate(timeout=500)[0] for node in nodes]
    assert [node.returncode for node in nodes] == [0, 0], said
    assert "on 2 rank(s)" in said[0] + said[1]
    (_, step) = metrics(tmp_path / "nodes")
    assert step["train/tokens"] > 0 and step["mismatch/sync_logprob_abs_max"] < 1e-4
