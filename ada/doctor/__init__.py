"""Is this machine ready? Each check is a function that yields findings; each finding that is bad says what mends it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Finding:
    what: str
    fix: str | None = None  # None: it is well

    @property
    def bad(self) -> bool:
        return self.fix is not None
