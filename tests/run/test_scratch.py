"""Temporary folders of a process that is killed vanish with the next one's; those of processes that live stay."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from ada.scratch import Scratch

ROOT = Path(__file__).parents[2]
MAKING = """
import time
from pathlib import Path
from ada.scratch import Scratch
folder = Scratch("test")
(Path(folder.name) / "inner").mkdir()
print(folder.name, flush=True)
time.sleep(600)
"""


def making(temporary: Path) -> tuple[subprocess.Popen[str], Path]:
    environment = os.environ | {"TMPDIR": str(temporary), "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen([sys.executable, "-c", MAKING], stdout=subprocess.PIPE, text=True, env=environment)
    assert process.stdout is not None
    return process, Path(process.stdout.readline().strip())


def test_what_a_killed_process_left_goes_with_the_next_start_and_what_is_in_use_stays(tmp_path, monkeypatch):
    (killed, left), (living, used) = making(tmp_path), making(tmp_path)
    assert left.is_dir() and used.is_dir()
    killed.send_signal(signal.SIGKILL)
    killed.wait(20)
    assert (left / "inner").is_dir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with Scratch("test") as own, Scratch("test") as second:
        assert sorted(tmp_path.iterdir()) == sorted([Path(own), Path(second), used])
    assert list(tmp_path.iterdir()) == [used]
    living.kill()
    living.wait(20)
