"""Which checkpoints are whole, which may go. The folders here are written by hand."""

from __future__ import annotations

import math
import os
import subprocess
from pathlib import Path

import pytest

from ada.checkpoint.folder import fault_of, name_of, newest_whole, remove, settle_leftovers, steps_in, superfluous
from ada.checkpoint.writer import SUMS, Writer, write_sums


def checkpoint(root: Path, step: int, content: bytes = b"x" * 1000) -> Path:
    folder = root / name_of(step)
    writer = Writer(folder)
    writer.write("actor/00000.safetensors", lambda path: path.write_bytes(content))
    writer.write("state.pt", lambda path: path.write_bytes(content[:10]))
    assert writer.failure is None
    write_sums(folder, writer.sums)
    return folder


def test_the_sums_are_those_of_sha256sum(tmp_path):
    folder = checkpoint(tmp_path, 3)
    assert fault_of(folder) is None
    done = subprocess.run(["sha256sum", "--check", "--strict", SUMS], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.count(": OK") == 2


def cut(folder: Path) -> None:
    os.truncate(folder / "actor/00000.safetensors", 500)


def flipped(folder: Path) -> None:
    path = folder / "state.pt"
    path.write_bytes(b"y" + path.read_bytes()[1:])


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (cut, "actor/00000.safetensors is not as it was written"),
        (flipped, "state.pt is not as it was written"),
        (lambda folder: (folder / "state.pt").unlink(), "No such file"),
        (lambda folder: (folder / SUMS).unlink(), "No such file"),
        (lambda folder: (folder / SUMS).write_text(""), "is empty"),
    ],
)
def test_what_is_not_whole_is_passed_over_and_told_C01(tmp_path, spoil, why):
    """And so is an empty folder with a higher number."""
    good, bad = checkpoint(tmp_path, 90), checkpoint(tmp_path, 100)
    spoil(bad)
    (tmp_path / name_of(1000)).mkdir()
    (tmp_path / ".step-002000.partial").mkdir()
    step, told = newest_whole(tmp_path)
    assert step == 90 and fault_of(good) is None
    assert len(told) == 2 and "step-001000" in told[0] and why in told[1]
    assert steps_in(tmp_path) == [90]
    assert newest_whole(tmp_path) == (90, [])


def test_no_checkpoint_at_all_C06(tmp_path):
    assert newest_whole(tmp_path) == (None, [])
    assert newest_whole(tmp_path / "nowhere") == (None, [])


def test_steps_are_ordered_as_numbers_C03(tmp_path):
    for step in (1000, 90, 100, 1000000):
        (tmp_path / name_of(step)).mkdir()
    assert steps_in(tmp_path) == [90, 100, 1000, 1000000]


@pytest.mark.parametrize(
    ("steps", "scores", "keep", "newest", "stay"),
    [
        (range(1, 7), {1: 0.1, 2: 0.9, 3: 0.2, 4: 0.3, 5: 0.9, 6: 0.4}, 2, 6, {5, 6}),  # of equal ones the newer is the best
        (range(1, 7), {1: 0.1, 2: 0.9, 3: 0.2, 4: 0.3, 5: 0.8, 6: 0.4}, 2, 6, {2, 5, 6}),
        (range(1, 7), {1: 0.1, 2: 0.9}, 1, 6, {2, 6}),
        (range(1, 7), {1: 0.1, 2: math.nan, 3: math.nan}, 1, 6, {1, 6}),
        (range(1, 7), {}, 3, 6, {4, 5, 6}),
        (range(1, 7), {9: 1.0}, 1, 6, {6}),  # the best has no checkpoint
        (range(1, 7), {}, None, 6, set(range(1, 7))),
        ([90, 100, 1000], {90: 0.5}, 1, 1000, {90, 1000}),
        ([100, 700], {700: 0.5}, 1, 100, {100, 700}),  # 700 is an older run's: what was just written stays
    ],
)
def test_the_newest_and_the_best_stay_C03(steps, scores, keep, newest, stay):
    assert set(steps) - set(superfluous(steps, scores, keep, newest)) == stay


def test_what_is_removed_is_gone_and_leftovers_too(tmp_path):
    checkpoint(tmp_path, 1)
    checkpoint(tmp_path, 2)
    remove(tmp_path, 1)
    assert [path.name for path in tmp_path.iterdir()] == ["step-000002"]
    (tmp_path / ".step-000003.partial" / "actor").mkdir(parents=True)
    (tmp_path / ".step-000001.removed").mkdir()
    settle_leftovers(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["step-000002"]
