"""Ctrl-C and SIGTERM: the run ends at the next draw, in order; where that takes too long, at once."""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from types import FrameType

log = logging.getLogger(__name__)

GRACE_SECONDS = 7.0  # from the signal to the end of the process, which on a busy machine takes a moment itself


class StopRequest:
    """Call it to ask whether a signal has come. A second signal ends the process at once."""

    def __init__(self) -> None:
        self.signal: int | None = None
        self._timer: threading.Timer | None = None

    def __call__(self) -> bool:
        return self.signal is not None

    def install(self) -> StopRequest:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._on_signal)
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
        self._timer = threading.Timer(GRACE_SECONDS, self._force)
        self._timer.daemon = True
        self._timer.start()

    def _force(self) -> None:
        log.warning("the run did not end within %g s of %s; ending it by force", GRACE_SECONDS, self.name)
        os._exit(self.exit_code)
