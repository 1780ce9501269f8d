"""How the tests run the commands that docs/ and the README show, so that a new one is run too, or fails.

A command is run as it stands, `make` expanded to what it would do, with keys behind it that make it small. What it names on the Hugging
Face hub lies beside it under the same name, as folders: a random model of two layers and a few sums for each data set.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from functools import cache

from tests.docs.pages import ROOT

# By hand, where another test needs the process, the server or the ranks to itself; it takes the command from here.
TWO_MACHINES = [  # tests/run/test_two_nodes.py
    f"make train RECIPE=qwen15b_seq_balance NNODES=2 NODE_RANK={machine} MASTER_ADDR=10.0.0.1" for machine in (0, 1)
]
ONE_ENGINE = "make train RECIPE=qwen7b_seq_balance NPROC=8 ARGS=engine.tensor_parallel=2"  # tests/run/test_two_ranks.py
CHECKED = "make check RECIPE=qwen15b_seq_balance"  # tests/run/test_check.py
DASHBOARD = "ada dashboard --project ada"  # tests/observability/test_dashboard.py
ELSEWHERE = [*TWO_MACHINES, ONE_ENGINE, CHECKED, DASHBOARD]
# Read by their parser alone: they take hours, or run these tests.
READ = ["make reproduce", "make reproduce QUICK=1", "make test"]

_DRAWN = ("engine=transformers",)
SMALLER = {  # by subcommand, in the order in which they run
    "train": ("steps=1", "batch.prompts_per_step=4", "evaluation.samples=1", "tracking.wandb=off", *_DRAWN),
    "check": _DRAWN,
    "prepare": ("generation.max_response_tokens=16", "data.train.limit=8", *_DRAWN),
    "eval": ("samples=1", *_DRAWN),
    "compare": (),
    "report": (),
    "plan": (),
    "simulate": (),
    "gradients": (),
    "recipes": (),
    "runs": (),
}
_LAUNCHER = {"MAKEFLAGS", "MAKELEVEL", "NPROC", "NNODES", "NODE_RANK", "MASTER_ADDR", "MASTER_PORT", "RANK", "LOCAL_RANK", "WORLD_SIZE"}


@cache
def expanded(command: str, more: str = "", **variables: str) -> list[str]:
    """What `make` would do, as words; a command that is not of make as it is.

    `more` goes to the end of the command, or of its ARGS; `variables` stand in place of its own.
    """
    words = shlex.split(command)
    if words[0] != "make":
        return words + shlex.split(more)
    given = dict(word.split("=", 1) for word in words if "=" in word) | variables
    given["ARGS"] = f"{given.get('ARGS', '')} {more}".strip()
    targets = [word for word in words[1:] if "=" not in word]
    environment = {name: value for name, value in os.environ.items() if name not in _LAUNCHER}
    done = subprocess.run(
        ["make", "-n", *targets, *(f"{name}={value}" for name, value in ({"NPROC": "1"} | given).items())],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return shlex.split(done.stdout.splitlines()[-1])


def of_ada(words: list[str]) -> list[str]:
    """The arguments of `ada`, whatever launches it."""
    place = next(place for place, word in enumerate(words) if re.fullmatch(r"(\.venv/bin/)?ada", word))
    return words[place + 1 :]
