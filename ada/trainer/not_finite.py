"""Updates whose loss or gradient is not finite: each is skipped and written aside, and too many in a row end the run."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ada.trainer.statistics import UpdateStats
from ada.types import Sequence as TokenSequence

log = logging.getLogger(__name__)

FILES = 20  # batches written aside at most: what is wrong shows in the first ones


class NotFinite:
    def __init__(self, limit: int, run: Path):
        """`run`: its folder, for people."""
        self.limit, self.run = limit, run
        self.in_a_row = 0
        self._found = 0
        self._newest = ""  # file

    def judge(self, step: int, number: int, stats: UpdateStats, share: Sequence[TokenSequence]) -> tuple[str, dict[str, Any]] | None:
        """Name and content of the file to write where update `number` of a step was not finite, else None."""
        if stats.not_finite is None:
            self.in_a_row = self.in_a_row if stats.skipped else 0  # an update without any gradient says nothing
            return None
        self.in_a_row += 1
        self._found += 1
        log.warning("step %d, update %d: the %s is not finite; the update is skipped", step, number, stats.not_finite)
        name = f"not-finite/step-{step:06d}-update-{number}.json"
        content = {"not_finite": stats.not_finite, "sequences": [dataclasses.asdict(sequence) for sequence in share]}
        if self._found > FILES:
            return None
        self._newest = name
        return name, content

    def check(self) -> None:
        """Raises FloatingPointError where the limit is reached."""
        if self.in_a_row >= self.limit:
            raise FloatingPointError(
                f"loss or gradient was not finite in {self.in_a_row} updates in a row (trainer.not_finite_in_a_row = {self.limit}). "
                f"Each was skipped: the weights are those before. Look for what is unusual in their sequences ({self.run / self._newest} "
                f"and beside it), then go on from the last checkpoint: run_name={self.run.name} resume=changed, with a lower "
                "trainer.learning_rate for example"
            )
