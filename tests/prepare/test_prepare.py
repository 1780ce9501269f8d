"""`ada prepare` as a person starts it, in a process of its own, with the real engines; killed and started again."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow.parquet
import pytest

from ada.data.sources.microworld import Microworld

ROOT = Path(__file__).parents[2]
_LAUNCHER = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT")


def start(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    env = {name: value for name, value in os.environ.items() if name not in _LAUNCHER} | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "ada", "prepare", *arguments]
    return subprocess.Popen(command, cwd=folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def prepare(folder: Path, *arguments: str, code: int = 0) -> str:
    process = start(folder, *arguments)
    said, _ = process.communicate(timeout=280)
    assert process.returncode == code, said
    return said


def table(path: Path) -> list[dict[str, object]]:
    return pyarrow.parquet.read_table(path).to_pylist()


@pytest.mark.slow
@pytest.mark.timeout(600)  # three runs of the command
def test_the_micro_world_killed_and_resumed_gives_the_same_file(tmp_path: Path) -> None:
    """Every 16th problem, one of them twice and one with an unusable gold answer; few run at once, so that there is a journal early."""
    rows = [{"id": row.id, "problem": row.problem, "answer": row.answer} for row in list(Microworld().rows())[::16]]
    rows += [rows[0] | {"id": "again"}, {"id": "no gold", "problem": "b9:0001+0001=", "answer": "}"}]
    (tmp_path / "problems.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    given = ["micro_seq_balance", "data.train.name=jsonl", "data.train.path=problems.jsonl", "data.train.id=id", "engine.max_concurrent=16"]
    given += ["--draws", "8", "--keep", "0 < p <= 0.375"]

    process = start(tmp_path, *given, "--output", "killed")
    journal, deadline = tmp_path / "killed" / "journal.jsonl", time.monotonic() + 250
    while time.monotonic() < deadline and not (journal.exists() and b'"tokens"' in journal.read_bytes()):
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    before = journal.read_bytes()
    assert b'"tokens"' in before and not (tmp_path / "killed" / "problems.parquet").exists()
    prepare(tmp_path, *given, "--output", "killed")
    assert journal.read_bytes().startswith(before[: before.rfind(b"\n") + 1])  # it went on, and drew nothing twice

    said = prepare(tmp_path, *given, "--output", "whole")
    found = table(tmp_path / "whole" / "problems.parquet")
    assert f"{len(found)} of 34 problems kept" in said
    for file in ("problems.parquet", "pass_rates.png"):
        assert (tmp_path / "killed" / file).read_bytes() == (tmp_path / "whole" / file).read_bytes()
    answers = {row["id"]: row["answer"] for row in rows}
    assert found and all(row["answer"] == answers[row["id"]] for row in found)
    assert all(1 <= row["right"] <= 3 and row["right"] + row["wrong"] == 8 and row["pass_rate"] == row["right"] / 8 for row in found)
    report = (tmp_path / "whole" / "report.md").read_text()
    for line in ("rows read | 34", "dropped: repeated problem | 1", "does not call right | 1", "8 responses each | 32"):
        assert f"{line} |" in report
