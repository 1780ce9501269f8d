"""Verdicts that come a set time after they are asked for, on the engine's clock."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Hashable

from ada.rewards.service import Verdict
from ada.simulation.engine import SimulatedEngine

VERDICTS = {"right": Verdict(1.0, True), "wrong": Verdict(0.0, False)}


class SimulatedRewards:
    asks_about_cut_off = False

    def __init__(self, engine: SimulatedEngine, seconds: float):
        self.engine, self.seconds = engine, seconds
        self._due: deque[tuple[float, Hashable, Verdict]] = deque()
        engine.due = self.due

    def due(self) -> float:
        return self._due[0][0] if self._due else math.inf

    def submit(self, key: Hashable, text: str, answer: str, facts: object = None) -> None:
        self._due.append((self.engine.clock + self.seconds, key, VERDICTS[text]))

    def poll(self, wait_seconds: float = 0.0) -> list[tuple[Hashable, Verdict]]:
        if wait_seconds and self._due:  # the engine has nothing to do meanwhile
            self.engine.clock = max(self.engine.clock, min(self.due(), self.engine.clock + wait_seconds))
        ready = []
        while self._due and self._due[0][0] <= self.engine.clock:
            ready.append(self._due.popleft()[1:])
        return ready
