"""The host memory of a run, step by step: what grows with every step ends a long run."""

from __future__ import annotations

import logging

import psutil

from ada.ranks import Ranks

log = logging.getLogger(__name__)

SETTLED = 3  # looks after which a run holds what it needs


class MemoryWatch:
    def __init__(self, growth: float, ranks: Ranks):
        """`growth`: what is warned of, as a share of the memory after the first steps, and then of each level warned of."""
        self.growth, self.ranks = growth, ranks
        self._looks = 0
        self._level = 0.0

    def look(self, step: int) -> float:
        """GiB resident, of this process and its children; the largest of all ranks. Collective."""
        gib = max(self.ranks.gather(resident_gib()))
        self._looks += 1
        if self._looks <= SETTLED:
            self._level = gib
        elif gib > self._level * (1 + self.growth):
            if self.ranks.first:
                log.warning(
                    "step %d: a rank holds %.2f GiB of the host's memory, where it held %.2f (memory/host_gib in metrics.jsonl); "
                    "of %.0f GiB, %.1f are free",
                    *(step, gib, self._level, psutil.virtual_memory().total / 2**30, psutil.virtual_memory().available / 2**30),
                )
            self._level = gib
        return gib


def resident_gib() -> float:
    """Pages that processes share count for each of them."""
    this = psutil.Process()
    total = 0
    for process in [this, *this.children(recursive=True)]:
        try:
            total += process.memory_info().rss
        except psutil.NoSuchProcess:
            continue
    return total / 2**30
