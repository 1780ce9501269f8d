from __future__ import annotations

import dataclasses
import os
import signal
import subprocess
import time

from ada.watch.processes import Process


def of(child: subprocess.Popen[bytes]) -> Process:
    """As the child would name itself."""
    born = int(open(f"/proc/{child.pid}/stat").read().rpartition(")")[2].split()[19])
    return dataclasses.replace(Process.this(), pid=child.pid, born=born)


def test_a_process_is_gone_when_it_is_dead_before_anyone_has_waited_for_it():
    child = subprocess.Popen(["sleep", "600"])
    process = of(child)
    assert not process.gone and not Process.this().gone
    process.send(signal.SIGSTOP)
    assert not process.gone
    process.send(signal.SIGKILL)
    deadline = time.monotonic() + 20
    while not process.gone and time.monotonic() < deadline:
        time.sleep(0.01)
    assert process.gone
    child.wait()
    assert process.gone
    process.send(signal.SIGKILL)  # nothing


def test_what_cannot_be_seen_from_here_is_neither_gone_nor_reached():
    here = Process.this()
    later = dataclasses.replace(here, born=here.born + 1)  # its number was given to another process
    assert here.reachable and later.gone
    for elsewhere in (dataclasses.replace(here, host="another"), dataclasses.replace(here, numbering="pid:[1]")):
        assert not elsewhere.reachable and not elsewhere.gone
        elsewhere.send(signal.SIGKILL)
    later.send(signal.SIGKILL)
    assert os.getpid() == here.pid  # still there
