"""+1 for a right response, -1 for a wrong one: REINFORCE without a baseline, as Reinforce-Rej (arXiv 2504.11343) has it."""

from __future__ import annotations

from typing import Literal

from ada.config import config
from ada.types import Group


@config
class Signed:
    """Groups of one outcome have a gradient too. Reinforce-Rej leaves them out: trainer.zero_variance `reject`."""

    name: Literal["signed"] = "signed"

    def advantages(self, group: Group) -> list[float]:
        return [1.0 if attempt.right else -1.0 for attempt in group.attempts]
