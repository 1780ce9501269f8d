"""Discounted counts of right answers under a Beta prior: Reinforce-Ada-Est's Ada-EMA (arXiv 2510.04996)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import Field

from ada.config import config
from ada.contracts import PromptStates
from ada.types import PassRate, Pool, Prompt


@config
class EMA:
    name: Literal["ema"] = "ema"
    discount: Annotated[
        float, Field(ge=0, le=1, description="lambda: what a prompt's earlier counts keep of their weight at each visit; 1 never forgets")
    ] = 0.8
    prior_right: Annotated[float, Field(gt=0, description="alpha: right answers that the prior is worth")] = 1.0
    prior_wrong: Annotated[float, Field(gt=0, description="beta: wrong answers that the prior is worth")] = 1.0

    def start(self, states: PromptStates | None = None) -> EMAEstimator:
        """It counts, and reads no states."""
        return EMAEstimator(self)


class EMAEstimator:
    """On k right of m: T <- lambda T + m, P <- lambda P + k; p = (P + alpha) / (T + alpha + beta). Kept by prompt id.

    A prompt that was not visited yet starts from its data's prior, where it has one: T = strength, P = mean x strength.
    """

    def __init__(self, config: EMA):
        self.config = config
        self._seen: dict[str, float] = {}  # T
        self._right: dict[str, float] = {}  # P

    def believe(self, prompts: Sequence[Prompt]) -> list[PassRate]:
        return [self._belief(*self._counts(prompt)) for prompt in prompts]

    def learn(self, pools: Sequence[Pool]) -> None:
        """Pools without any verdict change nothing: nothing was seen, so nothing is forgotten."""
        for pool in pools:
            judged = pool.right + pool.wrong
            if judged:
                seen, right = self._counts(pool.prompt)
                self._seen[pool.prompt.id] = self.config.discount * seen + judged
                self._right[pool.prompt.id] = self.config.discount * right + pool.right

    def state_dict(self) -> dict[str, Any]:
        return {"seen": dict(self._seen), "right": dict(self._right)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._seen, self._right = dict(state["seen"]), dict(state["right"])

    def _counts(self, prompt: Prompt) -> tuple[float, float]:
        if prompt.id not in self._seen and prompt.prior is not None:
            return prompt.prior.strength, prompt.prior.mean * prompt.prior.strength
        return self._seen.get(prompt.id, 0.0), self._right.get(prompt.id, 0.0)

    def _belief(self, seen: float, right: float) -> PassRate:
        prior = self.config.prior_right + self.config.prior_wrong
        return PassRate(mean=(right + self.config.prior_right) / (seen + prior), strength=seen)
