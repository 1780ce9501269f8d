"""Temporary folders that a killed process does not leave for good: the next one that makes such a folder removes them."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from pathlib import Path

PREFIX = "ada-scratch-"


class Scratch(tempfile.TemporaryDirectory[str]):
    """`what`: a part of its name, for people. Its process holds a lock on it, which the system lifts however the process ends."""

    def __init__(self, what: str):
        _remove_leftovers()
        self._lock: int | None = None
        while self._lock is None:  # until it is locked another process may take it for a leftover
            super().__init__(prefix=f"{PREFIX}{what}-", ignore_cleanup_errors=True)
            self._lock = _locked(Path(self.name), wait=True)

    def cleanup(self) -> None:
        super().cleanup()
        lock, self._lock = self._lock, None
        if lock is not None:
            os.close(lock)


def _remove_leftovers() -> None:
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        if (lock := _locked(folder, wait=False)) is not None:
            shutil.rmtree(folder, ignore_errors=True)
            os.close(lock)


def _locked(folder: Path, wait: bool) -> int | None:
    """A descriptor that holds the folder's lock; None where another process holds it, or the folder is gone or another user's."""
    try:
        lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        return None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        if folder.exists():
            return lock
    except BlockingIOError:
        pass
    os.close(lock)
    return None
