"""The process group of a process that was not launched by torchrun."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

PARENT = """
import subprocess, sys
from ada.trainer.distributed import start_distributed
assert start_distributed() == (0, 1)
code = "from ada.trainer.distributed import start_distributed; assert start_distributed() == (0, 1)"
sys.exit(subprocess.run([sys.executable, "-c", code]).returncode)
"""


@pytest.mark.slow
def test_a_child_of_a_process_alone_makes_a_group_of_its_own():
    launcher = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
    env = {name: value for name, value in os.environ.items() if name not in launcher}
    done = subprocess.run([sys.executable, "-c", PARENT], env=env, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-2000:]
