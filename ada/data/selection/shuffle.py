from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Literal

from ada.config import config
from ada.data.selection.epochs import Epochs, require_enough
from ada.types import Pool, Prompt


@config
class Shuffle:
    """Every prompt once an epoch, in an order that depends on (seed, epoch) alone."""

    name: Literal["shuffle"] = "shuffle"

    def start(self, prompts: Sequence[Prompt], seed: int) -> ShuffledPrompts:
        return ShuffledPrompts(prompts, seed)


class ShuffledPrompts:
    def __init__(self, prompts: Sequence[Prompt], seed: int):
        self.prompts = prompts
        self.order = Epochs(len(prompts), seed)
        self.taken = 0  # places of the endless order that were read
        self.waiting: list[int] = []  # prompts that came up while their step had them already; they come first in the next

    def next(self, count: int, beside: Collection[str] = ()) -> list[Prompt]:
        """The next `count` prompts, over the end of an epoch where need be, without one that comes twice or is in `beside` (ids).

        Raises ValueError where there are not so many prompts.
        """
        require_enough(self.prompts, count, beside)
        chosen: dict[int, Prompt] = {}
        queue, self.waiting = self.waiting, []
        while len(chosen) < count:
            index = queue.pop(0) if queue else self._read()
            if index in chosen or self.prompts[index].id in beside:
                self.waiting.append(index)
            else:
                chosen[index] = self.prompts[index]
        self.waiting += queue
        return list(chosen.values())

    def _read(self) -> int:
        self.taken += 1
        return self.order[self.taken - 1]

    def learn(self, pools: Sequence[Pool]) -> None:
        """The order does not depend on what was drawn."""

    def state_dict(self) -> dict[str, Any]:
        return {"taken": self.taken, "waiting": list(self.waiting)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.taken, self.waiting = state["taken"], list(state["waiting"])
