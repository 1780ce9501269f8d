"""Prompts nearest to a difficulty that follows the mean reward: AdaRFT, adaptive curriculum learning (arXiv 2504.05520)."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from ada.config import config
from ada.data.selection.epochs import require_enough
from ada.sampling.grouping import judged
from ada.sampling.passrate.ema import EMA
from ada.types import Pool, Prompt


@config
class Curriculum:
    """Difficulty of a prompt: 1 - its pass rate as observed in this run, (k + 1) / (m + 2) of k right of m; 1/2 where never seen,
    unless its data has a pass rate (ada/data/columns.py): then k and m begin with it.

    After each step with mean reward R: target <- clip(target + step tanh(sensitivity (R - reward_target)), 0, 1). The authors (verl,
    recipe/adarft) take difficulties from another model's pass rates before training, in percent: their eta of 50 is 0.5 here.
    """

    name: Literal["curriculum"] = "curriculum"
    start_target: Annotated[float, Field(ge=0, le=1, description="target difficulty at the start; 0: always right, 1: never")] = 0.0
    step: Annotated[float, Field(gt=0, description="eta: the most that the target moves in a step")] = 0.5
    sensitivity: Annotated[float, Field(gt=0, description="alpha: how sharply the target answers to the mean reward")] = 2.0
    reward_target: Annotated[float, Field(description="beta: mean reward at which the target rests")] = 0.5
    discount: Annotated[
        float, Field(ge=0, le=1, description="what a prompt's earlier responses keep of their weight at each visit; 1 never forgets")
    ] = 0.8

    def start(self, prompts: Sequence[Prompt], seed: int) -> CurriculumPrompts:
        return CurriculumPrompts(self, prompts, seed)


class CurriculumPrompts:
    def __init__(self, config: Curriculum, prompts: Sequence[Prompt], seed: int):
        self.config, self.prompts, self.seed = config, prompts, seed
        self.asked = 0  # calls of `next`: each breaks ties in an order of its own
        self.target = config.start_target
        self.observed = EMA(discount=config.discount).start()

    def next(self, count: int, beside: Collection[str] = ()) -> list[Prompt]:
        """`count` prompts, nearest to the target difficulty first, ties at random. Raises ValueError where there are not so many."""
        require_enough(self.prompts, count, beside)
        distance = np.array([abs(1 - belief.mean - self.target) for belief in self.observed.believe(self.prompts)])
        order = np.random.default_rng([self.seed, self.asked]).permutation(len(self.prompts))
        self.asked += 1
        nearest = (self.prompts[i] for i in order[np.argsort(distance[order], kind="stable")])
        return [prompt for prompt in nearest if prompt.id not in beside][:count]

    def learn(self, pools: Sequence[Pool]) -> None:
        """Pools without any verdict say nothing."""
        rewards = [pool.mean_reward for pool in pools if judged(pool)]
        if rewards:
            surplus = sum(rewards) / len(rewards) - self.config.reward_target
            self.target = min(1.0, max(0.0, self.target + self.config.step * math.tanh(self.config.sensitivity * surplus)))
        self.observed.learn(pools)

    def state_dict(self) -> dict[str, Any]:
        return {"asked": self.asked, "target": self.target, "observed": self.observed.state_dict()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.asked, self.target = state["asked"], state["target"]
        self.observed.load_state_dict(state["observed"])
