"""A random part of the pool, whatever its rewards."""

from __future__ import annotations

from typing import ClassVar, Literal

from ada.config import config
from ada.sampling.grouping import by_draw, needed_size, shuffled
from ada.types import Attempt, Pool


@config
class Random:
    refuses: ClassVar = {"importance": "a random part of the pool is unbiased as it is; weights would bias it where a side is missing"}

    name: Literal["random"] = "random"

    def choose(self, pool: Pool, size: int | None, seed: int) -> list[Attempt]:
        """`size` attempts with a verdict; all of them where the pool has fewer."""
        return by_draw(shuffled(pool, seed)[: needed_size(size, self.name)])
