"""Starts the engine and trains two tiny steps, in a process of its own: what crashes there is a finding, not the end of the doctor."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from importlib.util import find_spec

from ada.doctor import Finding

LIMIT_SECONDS = 300


def tiny_step(command: Sequence[str] | None = None) -> Iterator[Finding]:
    engine = "vllm" if find_spec("vllm") else "transformers"
    command = command or [sys.executable, "-m", "ada", "check", "micro_seq_balance", f"engine={engine}"]
    shown, began = " ".join(["ada", *command[3:]]), time.monotonic()
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        yield Finding(f"two tiny steps did not end within {LIMIT_SECONDS} s", f"{shown}  shows where it stands")
        return
    if done.returncode == 0:
        yield Finding(f"engine {engine} started, two tiny steps trained and synced ({time.monotonic() - began:.0f} s)")
        return
    said = [line.strip() for line in (done.stdout + done.stderr).splitlines() if "FAILED" in line or "rror" in line]
    yield Finding(f"two tiny steps failed: {said[-1] if said else f'exit code {done.returncode}'}", f"{shown}  shows all of it")
