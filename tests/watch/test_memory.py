from __future__ import annotations

import logging
import subprocess
import sys

import pytest

from ada.ranks import Ranks
from ada.watch import memory
from ada.watch.memory import MemoryWatch, resident_gib


def test_growth_is_told_once_at_each_level_Y01(monkeypatch, caplog):
    caplog.set_level(logging.WARNING)
    sizes = [1.0, 4.0, 2.0, 2.9, 3.1, 4.5, 4.8, 2.0]  # after the third: +50 % is 3.0; then, of 3.1, 4.65
    monkeypatch.setattr(memory, "resident_gib", iter(sizes).__next__)
    watch = MemoryWatch(0.5, Ranks())
    told = []
    for step in range(len(sizes)):
        caplog.clear()
        assert watch.look(step) == sizes[step]
        told.append(len(caplog.records))
    assert told == [0, 0, 0, 0, 1, 0, 1, 0]


@pytest.mark.slow
def test_children_count():
    before = resident_gib()
    code = "block = bytearray(b'x' * (200 << 20)); print('ready', flush=True); input()"
    child = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert child.stdout.readline() == b"ready\n"
    grown = resident_gib() - before
    child.communicate(b"\n")
    assert grown >= 200 / 1024
