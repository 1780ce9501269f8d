"""What an experiment is: recipes, how long each trains, how many seeds, and what is said of them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Axis = Literal["updates", "responses", "tokens", "seconds"]
"""What methods are compared at an equal amount of: steps; responses or tokens generated in training; CPU seconds of training."""

WORDS: Mapping[Axis, str] = {
    "updates": "updates",
    "responses": "generated responses",
    "tokens": "generated tokens",
    "seconds": "CPU seconds",
}


@dataclass(frozen=True)
class Method:
    name: str
    recipe: str
    steps: int = 50  # more for methods that draw little, so that all can be compared at equal generated tokens too
    prototype: tuple[float, float] | None = None  # Ave@8 after 50 steps by an earlier prototype of the experiment: mean, standard error
    overrides: tuple[str, ...] = ()  # recipe keys that make it another method than its recipe's

    @property
    def folder(self) -> str:
        return self.recipe if not self.overrides else re.sub(r"[^a-z0-9]+", "_", f"{self.recipe} {self.name}".lower()).strip("_")


@dataclass(frozen=True)
class Claim:
    text: str
    better: str
    worse: str
    axis: Axis


@dataclass(frozen=True)
class Experiment:
    """Nothing is tuned in it: a run has its recipe's settings."""

    name: str
    title: str
    methods: tuple[Method, ...]
    seeds: tuple[int, ...]
    budget: float  # seconds of the whole; no run is started that would end after it
    baselines: tuple[str, ...]  # what each method is tested against
    claims: tuple[Claim, ...] = ()
    axes: tuple[Axis, ...] = ("updates", "tokens", "seconds")
    updates: int = 50  # training steps at which methods are compared
    overrides: tuple[str, ...] = ()  # recipe keys that all runs share
    columns: Mapping[str, str] = field(default_factory=dict)  # metrics shown beside the common ones, by heading
