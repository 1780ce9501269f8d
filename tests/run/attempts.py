"""Runs `ada train` again and again in forks of one process that has imported everything, each ended by SIGKILL at a point chosen at random,
until one comes to its end. Attempt i is killed at step i + 1 at the latest: so a fast machine sees as many kills as a slow one. Prints what
became of each attempt, as JSON.

    python attempts.py SEED KILLS RUN RECIPE key=value ...
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from importlib import import_module
from pathlib import Path

import psutil

from ada.checkpoint.folder import steps_in

START, STEPS = 3.0, 2.0  # CPU seconds that a process takes to its first step, and those of some steps more


def attempt(arguments: list[str], log: Path, at_write: int | None) -> int:
    """Forks; the child dies right before its `at_write`-th call that makes a file lasting or takes one away."""
    pid = os.fork()
    if pid:
        return pid
    os.setpgid(0, 0)
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    if at_write is not None:
        left = [at_write]
        for name in ("fsync", "rename", "replace", "unlink", "rmdir"):
            setattr(os, name, dying(getattr(os, name), left))
    code = import_module("ada.cli.train").train(arguments[0], arguments[1:])
    sys.stdout.flush()
    os._exit(code)


def dying(act, left: list[int]):
    def instead(*arguments, **options):
        left[0] -= 1
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return act(*arguments, **options)

    return instead


def wait(pid: int, kill_after: float | None, checkpoints: Path, kill_at_step: int | None) -> tuple[int, float]:
    """How it ended (negative: by that signal) and the CPU seconds it took; `kill_after` so many of them, or with that step saved, it gets
    SIGKILL."""
    process, used = psutil.Process(pid), 0.0
    while True:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status), used
        times = process.cpu_times()
        used = times.user + times.system
        far = kill_at_step is not None and any(step >= kill_at_step for step in steps_in(checkpoints))
        if far or (kill_after is not None and used >= kill_after):
            os.kill(pid, signal.SIGKILL)
        time.sleep(0.005)


def import_everything() -> None:
    """Not at this module's head: reward workers import it too, as the main module of the process that they serve."""
    os.environ |= {"DS_ACCELERATOR": "cpu", "TOKENIZERS_PARALLELISM": "false", "TORCH_CPP_LOG_LEVEL": "ERROR"}
    for name in ("ada.loop", "ada.open_run", "ada.trainer.actor", "ada.engine.engines.transformers", "ada.cli.train"):
        import_module(name)
    from transformers import AutoModelForCausalLM, AutoTokenizer
    from transformers.utils.logging import disable_progress_bar

    from ada.data.microworld import BASE

    disable_progress_bar()  # it would start a thread, which a fork does not take along
    AutoModelForCausalLM.from_pretrained(BASE)
    AutoTokenizer.from_pretrained(BASE)


def main(seed: int, kills: int, run: Path, arguments: list[str]) -> None:
    import_everything()
    chance = random.Random(seed)
    log = Path(f"/tmp/attempts-{os.getpid()}.log")
    ends = []
    while True:
        after = at_write = at_step = None
        if len(ends) < kills:
            at_step = len(ends) + 1
            if len(ends) % 2:
                at_write = chance.randrange(1, 60)
            else:
                after = chance.uniform(0.3, START + STEPS)
        code, used = wait(attempt(arguments, log, at_write), after, run / "checkpoints", at_step)
        ends.append({"code": code, "after": after, "at_write": at_write, "used": used})
        if code != -signal.SIGKILL:
            break
    print(json.dumps({"ends": ends, "log": log.read_text()[-6000:]}))
    log.unlink()


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]), sys.argv[4:])
