"""What an engine is that one rank holds by itself."""

from __future__ import annotations

from collections.abc import Callable


class Alone:
    ranks = 1

    def drive(self, act: Callable[[], None], turn: Callable[[], object]) -> None:
        """No other rank has to follow."""
        act()
