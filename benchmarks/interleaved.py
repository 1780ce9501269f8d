"""Two ways to do the same work, timed in turns (A B, B A, A B, ...), so that what else the machine does hits both alike."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Comparison:
    ours: list[float]  # tokens per second, one for each repetition
    plain: list[float]

    @property
    def ratios(self) -> list[float]:
        return [a / b for a, b in zip(self.ours, self.plain, strict=True)]

    def line(self, name: str, unit: str = "tokens/s") -> str:
        """Median ratio and its quartiles, then the median speeds behind it."""
        low, middle, high = (f"{r:.2f}" if r >= 0.1 else f"{r:.2g}" for r in statistics.quantiles(self.ratios, n=4, method="inclusive"))
        speeds = f"{statistics.median(self.ours):,.0f} against {statistics.median(self.plain):,.0f} {unit}"
        return f"{name:<34} {middle}  ({low} to {high} in {len(self.ours)} pairs; {speeds})"


def interleaved(ours: Callable[[int], int], plain: Callable[[int], int], pairs: int) -> Comparison:
    """Each takes the number of the pair and returns the tokens it worked through. A first pair warms up and does not count."""
    ways = {"ours": ours, "plain": plain}
    speeds: dict[str, list[float]] = {name: [] for name in ways}
    for pair in range(pairs + 1):
        for name in sorted(ways, reverse=bool(pair % 2)):
            began = time.perf_counter()
            tokens = ways[name](pair)
            if pair:
                speeds[name].append(tokens / (time.perf_counter() - began))
    return Comparison(speeds["ours"], speeds["plain"])
