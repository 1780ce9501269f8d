"""runs/<name>/checkpoints/: which checkpoints there are, whether one is whole, and which may go.

A checkpoint is written under a hidden name and renamed when its last byte is on the disk, so a folder `step-000050` is complete; its
checksums say whether it still is. One that goes is first renamed back to a hidden name.
"""

from __future__ import annotations

import math
import re
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path

from ada.checkpoint.writer import SUMS, checksum


def name_of(step: int) -> str:
    return f"step-{step:06d}"


def partial_of(checkpoints: Path, step: int) -> Path:
    """Where the checkpoint of `step` is written aside."""
    return checkpoints / f".{name_of(step)}.partial"


def steps_in(checkpoints: Path) -> list[int]:
    """Steps of the checkpoints, ascending."""
    names = (re.fullmatch(r"step-(\d+)", path.name) for path in checkpoints.glob("step-*"))
    return sorted(int(found[1]) for found in names if found)


def fault_of(folder: Path) -> str | None:
    """Why a checkpoint cannot be used; None where every file is as it was written."""
    try:
        lines = (folder / SUMS).read_text().splitlines()
        for line in lines:
            digest, _, name = line.partition("  ")
            if checksum(folder / name) != digest:
                return f"{name} is not as it was written"
    except (OSError, UnicodeDecodeError) as error:
        return str(error)
    return None if lines else f"{SUMS} is empty"


def newest_whole(checkpoints: Path) -> tuple[int | None, list[str]]:
    """The step of the newest checkpoint that can be used, and a line on each newer one that cannot, which is renamed out of the way."""
    told: list[str] = []
    for step in reversed(steps_in(checkpoints)):
        folder = checkpoints / name_of(step)
        fault = fault_of(folder)
        if fault is None:
            return step, told
        aside = folder.with_name(f"unusable-{folder.name}")
        shutil.rmtree(aside, ignore_errors=True)
        folder.rename(aside)
        told.append(f"{folder} cannot be used ({fault}); it is now {aside.name}")
    return None, told


def superfluous(steps: Iterable[int], scores: Mapping[int, float], keep: int | None, newest: int) -> list[int]:
    """Checkpoints that may go: all but the `keep` newest, the best by score (of equal ones the newer) and `newest`, just written.

    Scores that are NaN are never the best.
    """
    if keep is None:
        return []
    ordered = sorted(set(steps))
    scored = [(scores[step], step) for step in ordered if not math.isnan(scores.get(step, math.nan))]
    stay = {newest, *ordered[-keep:], *([max(scored)[1]] if scored else [])}
    return [step for step in ordered if step not in stay]


def remove(checkpoints: Path, step: int) -> None:
    shutil.rmtree(hide(checkpoints, step), ignore_errors=True)


def hide(checkpoints: Path, step: int) -> Path:
    """Renames the checkpoint of `step` to what it is called until it is gone."""
    folder = checkpoints / name_of(step)
    hidden = folder.with_name(f".{folder.name}.removed")
    shutil.rmtree(hidden, ignore_errors=True)
    folder.rename(hidden)
    return hidden


def settle_leftovers(checkpoints: Path) -> None:
    """Removes what a kill left half written or half removed; what lacks nothing but its name gets it."""
    for partial in checkpoints.glob(".step-*.partial"):
        folder = partial.with_name(partial.name.removeprefix(".").removesuffix(".partial"))
        if not folder.exists() and fault_of(partial) is None:
            partial.rename(folder)
    for path in checkpoints.glob(".step-*"):
        shutil.rmtree(path, ignore_errors=True)
