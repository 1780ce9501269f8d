"""The ranks of a job in one process: each has the collection that it has in training, and the one whose clock is behind goes on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heapreplace
from typing import Any

from ada.sampling.carried import Carried
from ada.sampling.collection import Collection, Cost
from ada.simulation.engine import SimulatedEngine, decode
from ada.simulation.rewards import SimulatedRewards
from ada.types import Pool


@dataclass(frozen=True)
class Machine:
    engine: SimulatedEngine
    rewards: SimulatedRewards


class SharedCounters:
    """The part of `Ranks` that a collection asks for."""

    def __init__(self, world: int):
        self.world = world
        self._counters: dict[str, int] = {}

    def claim(self, counter: str) -> int:
        self._counters[counter] = claimed = self._counters.get(counter, -1) + 1
        return claimed

    def claimed(self, counter: str) -> int:
        return self._counters.get(counter, -1) + 1


class Crowd:
    """What a Collector takes for its rank's Collection. Every wave ends for all at the largest clock, as gathering does."""

    def __init__(self, machines: Sequence[Machine], counters: SharedCounters, **asked: Any):
        """`asked`: what the collector would say to a Collection."""
        self.machines = machines
        self.parts = [Collection(m.engine, m.rewards, decode, counters, **asked) for m in machines]  # type: ignore[arg-type]
        self.seconds = 0.0

    def open_wave(self, prompts: Sequence[Carried]) -> None:
        for part in self.parts:
            part.open_wave(prompts)

    def run(self) -> None:
        began = self.machines[0].engine.clock
        turns = [(machine.engine.clock, rank) for rank, machine in enumerate(self.machines)]
        heapify(turns)
        while turns:
            rank = turns[0][1]
            if self.parts[rank].advance():
                heapreplace(turns, (self.machines[rank].engine.clock, rank))
            else:
                heappop(turns)
        for part in self.parts:
            part.interrupt()
        self.seconds += wait_for_all(self.machines) - began

    def own_pools(self) -> dict[int, Pool]:
        return {position: pool for part in self.parts for position, pool in part.own_pools().items()}

    def own_prompts(self) -> dict[int, Carried]:
        return {position: prompt for part in self.parts for position, prompt in part.own_prompts().items()}

    @property
    def places(self) -> dict[int, int]:
        return {position: place for part in self.parts for position, place in part.places.items()}

    @property
    def cost(self) -> Cost:
        cost = Cost.of([part.cost for part in self.parts])
        cost.seconds = self.seconds
        return cost


def wait_for_all(machines: Sequence[Machine]) -> float:
    latest = max(machine.engine.clock for machine in machines)
    for machine in machines:
        machine.engine.clock = latest
    return latest


def crowd(machines: Sequence[Machine], counters: SharedCounters) -> Callable[..., Crowd]:
    """In the place of the class Collection: the engine, rewards, decoder and ranks of the collector itself are not asked."""
    return lambda engine, rewards, decode, ranks, **asked: Crowd(machines, counters, **asked)
