"""Ctrl-C and SIGTERM: the run ends at the next draw, in order; where that takes too long, at once."""

from __future__ import annotations

import logging
import os
import signal
import socket
import sys
import threading
import time
from types import FrameType

log = logging.getLogger(__name__)

GRACE_SECONDS = 7.0  # from the signal to the end of the process, which on a busy machine takes a moment itself


class StopRequest:
    """Call it to ask whether a signal has come. A second signal ends the process at once."""

    def __init__(self) -> None:
        self.signal: int | None = None

    def __call__(self) -> bool:
        return self.signal is not None

    def install(self) -> StopRequest:
        """In the main thread. A thread watches too: Python runs a handler only when the main thread leaves the C call it is in,
        and a rank that waits for another one in a collective does not leave it."""
        heard, told = socket.socketpair()
        told.setblocking(False)
        signal.set_wakeup_fd(told.detach(), warn_on_full_buffer=False)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._on_signal)
        threading.Thread(target=self._watch, args=(heard,), name="stop-request", daemon=True).start()
        return self

    @property
    def exit_code(self) -> int:
        return 128 + self.signal if self.signal is not None else 0

    @property
    def name(self) -> str:
        return signal.Signals(self.signal).name if self.signal is not None else ""

    def ended(self) -> None:
        """Everything is closed and written. After a signal the process ends here: taking down the interpreter costs seconds more."""
        if self.signal is not None:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(self.exit_code)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if self.signal is not None:
            os._exit(128 + number)
        self.signal = number
        print(f"\n{self.name}: ending the run; once more ends it at once", file=sys.stderr, flush=True)

    def _watch(self, heard: socket.socket) -> None:
        """Ends the process GRACE_SECONDS after the first signal, or at the second one."""
        number = self._next(heard)
        deadline = time.monotonic() + GRACE_SECONDS
        while (left := deadline - time.monotonic()) > 0:
            heard.settimeout(left)
            try:
                number = self._next(heard)
                break
            except TimeoutError:
                log.warning("the run did not end within %g s of %s; ending it by force", GRACE_SECONDS, signal.Signals(number).name)
        os._exit(128 + number)

    @staticmethod
    def _next(heard: socket.socket) -> int:
        while (number := heard.recv(1)[0]) not in (signal.SIGINT, signal.SIGTERM):
            pass
        return number
