"""What one part of `ada check` found."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class Result:
    seen: list[str] = field(default_factory=list)  # what held, with its figures
    faults: list[str] = field(default_factory=list)

    def expect(self, holds: bool, text: str, otherwise: str) -> None:
        (self.seen if holds else self.faults).append(text if holds else otherwise)
