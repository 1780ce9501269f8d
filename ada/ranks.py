"""What the ranks of a job share beside gradients: a counter that hands out work, and small objects."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, TypeVar

import torch.distributed as dist

T = TypeVar("T")


class Ranks:
    """The ranks of the default process group, or this process alone where there is none."""

    def __init__(self) -> None:
        self.world = dist.get_world_size() if dist.is_initialized() else 1
        self.rank = dist.get_rank() if dist.is_initialized() else 0
        self.collections = itertools.count()  # their numbers, whichever collectors they are of: alike on all ranks
        self._counters: dict[str, int] = {}
        # Objects travel over gloo: with NCCL they would take GPU memory.
        self._group = dist.new_group(backend="gloo") if self.world > 1 else None
        self._store = dist.PrefixStore("ada", dist.distributed_c10d._get_default_store()) if self.world > 1 else None

    @property
    def first(self) -> bool:
        return self.rank == 0

    def claim(self, counter: str) -> int:
        """0, 1, 2, ... over all ranks: each number of a counter goes to one rank."""
        if self._store is not None:
            return int(self._store.add(counter, 1)) - 1
        self._counters[counter] = self._counters.get(counter, -1) + 1
        return self._counters[counter]

    def claimed(self, counter: str) -> int:
        """How many numbers of a counter have been claimed, over all ranks."""
        if self._store is not None:
            return int(self._store.add(counter, 0))
        return self._counters.get(counter, -1) + 1

    def gather(self, value: T) -> list[T]:
        """Every rank's value, by rank. Collective."""
        if self.world == 1:
            return [value]
        values: list[Any] = [None] * self.world
        dist.all_gather_object(values, value, group=self._group)
        return values

    def from_first(self, act: Callable[[], T]) -> T:
        """What `act` gives on rank 0, which alone does it; what it raises there is raised by every rank. Collective."""
        given: Any = None
        failure: Exception | None = None
        if self.first:
            try:
                given = act()
            except Exception as error:
                failure = error
        given, failure = self.gather((given, failure))[0]
        if failure is not None:
            raise failure
        return given  # type: ignore[no-any-return]
