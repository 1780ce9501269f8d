"""Replay of informative groups: each step trains on some groups of recent steps again, beside its own.

A stored group keeps its whole-pool facts and the log-probs its responses were drawn with, from which their ratio is taken.
"""

from __future__ import annotations

import dataclasses
from collections import deque
from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from ada.config import config
from ada.sampling.seeds import seed_of
from ada.types import Attempt, Group, PassRate, Prompt, Response


@config
class Replay:
    groups: Annotated[
        int, Field(gt=0, description="stored groups that join each step's updates, drawn at random; fewer where fewer are stored")
    ]
    max_age: Annotated[int, Field(gt=0, description="steps after which a stored group is forgotten")]


class ReplayStore:
    """Groups with right and wrong responses of the last `max_age` steps: at most so many steps' prompts. The same on all ranks."""

    def __init__(self, replay: Replay, seed: int):
        self.replay = replay
        self.seed = seed
        self._steps: deque[tuple[int, list[Group]]] = deque()

    def draw(self, step: int) -> list[Group]:
        """At most `groups` of what earlier steps stored, each at most once and with its age, in an order that only the seed decides."""
        self._forget(step)
        stored = [dataclasses.replace(group, age=step - then) for then, groups in self._steps for group in groups]
        chosen = np.random.default_rng(seed_of(self.seed, "replay", step)).permutation(len(stored))[: self.replay.groups]
        return [stored[i] for i in chosen]

    def add(self, step: int, groups: Sequence[Group]) -> None:
        """Those of `groups` that have both right and wrong responses."""
        self._steps.append((step, [group for group in groups if _informative(group)]))

    def state_dict(self) -> dict[str, Any]:
        return {"steps": [[step, [dataclasses.asdict(group) for group in groups]] for step, groups in self._steps]}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._steps = deque((step, [_group(row) for row in groups]) for step, groups in state["steps"])

    def _forget(self, step: int) -> None:
        while self._steps and step - self._steps[0][0] > self.replay.max_age:
            self._steps.popleft()


def _informative(group: Group) -> bool:
    return any(a.right for a in group.attempts) and any(a.wrong for a in group.attempts)


def _group(row: dict[str, Any]) -> Group:
    """The inverse of dataclasses.asdict."""
    attempts = tuple(Attempt(**{**attempt, "response": Response(**attempt["response"])}) for attempt in row["attempts"])
    prompt = Prompt(**{**row["prompt"], "prior": _pass_rate(row["prompt"]["prior"])})
    return Group(**{**row, "prompt": prompt, "attempts": attempts, "belief": _pass_rate(row["belief"])})


def _pass_rate(row: dict[str, Any] | None) -> PassRate | None:
    return None if row is None else PassRate(**row)
