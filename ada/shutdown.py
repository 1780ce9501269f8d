"""Ctrl-C and SIGTERM: the run ends at the next draw, in order, with a checkpoint of its last step; where that takes too long, at once."""

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
    """Call it to ask whether a signal has come. A second Ctrl-C ends the process at once.

    A second SIGTERM does nothing: a batch system sends one to every process, and torchrun sends its own on.
    """

    def __init__(self) -> None:
        self.signal: int | None = None
        self.grace_seconds: float | None = None  # from SIGTERM to the end, once there is something to save
        self.saved = False  # a checkpoint holds the last complete step

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
        """0 after SIGTERM where nothing is lost: whoever sent it starts the run again."""
        if self.signal is None or (self.saved and self.signal == signal.SIGTERM):
            return 0
        return 128 + self.signal

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
            if number == signal.SIGINT:
                os._exit(128 + number)
            return
        self.signal = number
        print(f"\n{self.name}: ending the run; Ctrl-C ends it at once", file=sys.stderr, flush=True)

    def _watch(self, heard: socket.socket) -> None:
        """Ends the process at a second Ctrl-C, or when its time is over: GRACE_SECONDS, after SIGTERM `grace_seconds` if there are any."""
        number = self._next(heard)
        grace = self.grace_seconds if number == signal.SIGTERM and self.grace_seconds is not None else GRACE_SECONDS
        deadline = time.monotonic() + grace
        while (left := deadline - time.monotonic()) > 0:
            heard.settimeout(left)
            try:
                if self._next(heard) == signal.SIGINT:
                    os._exit(128 + signal.SIGINT)
            except TimeoutError:
                log.warning("the run did not end within %g s of %s; ending it by force", grace, signal.Signals(number).name)
        os._exit(128 + number)

    @staticmethod
    def _next(heard: socket.socket) -> int:
        while (number := heard.recv(1)[0]) not in (signal.SIGINT, signal.SIGTERM):
            pass
        return number
