"""Verdicts by the engine's clock in the place of the wall's, so that when they come in can be repeated."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable

from ada.rewards.functions import Facts
from ada.rewards.service import RewardService, Verdict


class Punctual:
    """Reward workers polled once a turn, whose verdicts come in the order of the responses, `turns` turns after each: held back where they
    are early, awaited where they are late."""

    def __init__(self, rewards: RewardService, turns: int):
        self.rewards, self.turns = rewards, turns
        self.asks_about_cut_off = rewards.asks_about_cut_off
        self.turn = 0
        self.due: deque[tuple[int, Hashable]] = deque()  # the turn in which a verdict comes, and whose
        self.arrived: dict[Hashable, Verdict] = {}

    def submit(self, key: Hashable, response_text: str, answer: str, facts: Facts) -> None:
        self.rewards.submit(key, response_text, answer, facts)
        self.due.append((self.turn + self.turns, key))

    def poll(self, wait_seconds: float = 0.0) -> list[tuple[Hashable, Verdict]]:
        """With wait_seconds > 0 nothing but a verdict can go on, and time jumps to the next one."""
        self.arrived |= self.rewards.poll()
        if wait_seconds and self.due:
            self.turn = max(self.turn, self.due[0][0])
        found = []
        while self.due and self.due[0][0] <= self.turn:
            _, key = self.due.popleft()
            while key not in self.arrived:
                self.arrived |= self.rewards.poll(1.0)
            found.append((key, self.arrived.pop(key)))
        self.turn += 1
        return found
