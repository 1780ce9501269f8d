"""Repeated problems: the first stays, with its answer."""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import blake2b

from ada.data.normal_form import normal_form
from ada.data.sources import Row


@dataclass(slots=True)
class Duplicates:
    """Which problems came before, by their normal form; how many repeated one, and how many of those have another answer."""

    count: int = 0
    conflicting: int = 0
    _answers: dict[bytes, str] = field(default_factory=dict)  # of each problem's first row

    def add(self, row: Row) -> bool:
        """True where the problem was seen before."""
        key = blake2b(normal_form(row.problem).encode(), digest_size=16).digest()
        first = self._answers.get(key)
        if first is None:
            self._answers[key] = row.answer
            return False
        self.count += 1
        self.conflicting += first.strip() != row.answer.strip()
        return True
