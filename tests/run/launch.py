"""Starts `ada train` the way a person does, in processes of its own, and looks at what it leaves behind."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
SHORT = ["batch.prompts_per_step=8", "sampling.schedule.max_draws=16", "evaluation.samples=1"]
"""Small steps of the micro-world's recipes."""

MARK = "ADA_TEST_OUTPUT"
_LAUNCHER = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT", "OMP_NUM_THREADS")


def without_launcher() -> dict[str, str]:
    """The environment of a process that nothing has launched yet."""
    return {name: value for name, value in os.environ.items() if name not in _LAUNCHER} | {"PYTHONPATH": str(ROOT)}


def start(
    output: Path, *overrides: str, ranks: int = 1, recipe: str = "micro_seq_balance", shortened: bool = True, program: str = "ada"
) -> subprocess.Popen[str]:
    """With a mark in its environment, by which every process it leaves can be found. Its standard output and error are one pipe.

    `program`: the module that is started in place of `ada`, with its arguments.
    """
    ada = [
        sys.executable,
        "-m",
        program,
        "train",
        recipe,
        *(SHORT if shortened else ()),
        f"output={output}",
        "tracking.wandb=off",
        *overrides,
    ]
    launcher = [
        sys.executable,
        "-m",
        "ada.launch",
        "--standalone",
        "--shutdown-timeout=300",
        f"--nproc-per-node={ranks}",
        "--no-python",
    ]
    env = without_launcher() | {MARK: str(output)}
    return subprocess.Popen(
        ada if ranks == 1 else [*launcher, *ada],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=env,
        cwd=ROOT,
    )


def train(output: Path, *overrides: str, ranks: int = 1, recipe: str = "micro_seq_balance", shortened: bool = True) -> str:
    """What it said. Fails where it does not end well."""
    process = start(output, *overrides, ranks=ranks, recipe=recipe, shortened=shortened)
    said, _ = process.communicate(timeout=900)
    assert process.returncode == 0, said[-4000:]
    return said


def metrics(run: Path) -> list[dict[str, Any]]:
    """Of metrics.jsonl; NaN and Infinity are no JSON."""

    def refuse(constant: str) -> None:
        raise ValueError(constant)

    return [json.loads(line, parse_constant=refuse) for line in (run / "metrics.jsonl").read_text().splitlines()]


def samples(run: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run / "samples.jsonl").read_text().splitlines()]


def until_step(process: subprocess.Popen[str], step: int) -> str:
    """Reads on until the step was reported; what was said so far."""
    assert process.stdout is not None
    said = ""
    for line in process.stdout:
        said += line
        if line.startswith(f"step={step} "):
            return said
    raise AssertionError(f"it ended before step {step}:\n{said[-4000:]}")


def left_behind(output: Path, seconds: float) -> list[str]:
    """Command lines of the processes of a run that are still there after `seconds`."""
    deadline = time.monotonic() + seconds
    while (found := _processes(output)) and time.monotonic() < deadline:
        time.sleep(0.1)
    return [b" ".join(_entries(pid, "cmdline")).decode() for pid in found]


def ranks_of(output: Path) -> dict[int, int]:
    """The process of each rank of a run."""
    found = {}
    for pid in _processes(output):
        rank = next((int(entry[5:]) for entry in _entries(pid, "environ") if entry.startswith(b"RANK=")), None)
        if rank is not None and b"train" in _entries(pid, "cmdline"):
            found[rank] = pid
    return found


def _processes(output: Path) -> list[int]:
    mark = f"{MARK}={output}".encode()
    return [pid for path in Path("/proc").glob("[0-9]*") if mark in _entries(pid := int(path.name), "environ")]


def _entries(pid: int, file: str) -> list[bytes]:
    """Of /proc/<pid>/<file>; none where the process has ended."""
    try:
        return Path(f"/proc/{pid}/{file}").read_bytes().split(b"\0")
    except OSError:
        return []
