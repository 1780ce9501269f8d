"""Where each thread of this process is, in a file: when the job ends badly, when the process crashes, and at a signal."""

from __future__ import annotations

import faulthandler
import signal
from pathlib import Path

SIGNAL = signal.SIGUSR2
"""Answered at once, whatever the process is doing: also in a call that never comes back, and when it is stopped, once it goes on."""


class Stacks:
    def __init__(self, path: Path):
        self.path = path
        self._file = path.open("w")  # whoever answers a signal cannot open it
        self._on_crash = not faulthandler.is_enabled()
        faulthandler.register(SIGNAL, self._file, all_threads=True)
        if self._on_crash:
            faulthandler.enable(self._file, all_threads=True)

    def leave(self) -> None:
        faulthandler.dump_traceback(self._file, all_threads=True)

    def close(self) -> None:
        """The file stays where there is something in it."""
        if self._file.closed:
            return
        faulthandler.unregister(SIGNAL)
        if self._on_crash:
            faulthandler.disable()
        self._file.close()
        if self.path.exists() and self.path.stat().st_size == 0:
            self.path.unlink()
