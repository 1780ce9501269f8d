"""How far this process has got: the main thread marks every bit of progress, and anyone may ask how long ago the last mark was."""

from __future__ import annotations

import time


class Pulse:
    def __init__(self) -> None:
        self.doing = "starting"
        self._marked = time.monotonic()

    def mark(self, doing: str | None = None) -> None:
        """Called often, by the main thread: it costs a tenth of a microsecond."""
        if doing is not None:
            self.doing = doing
        self._marked = time.monotonic()

    @property
    def still_seconds(self) -> float:
        return time.monotonic() - self._marked
