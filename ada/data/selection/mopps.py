"""Prompts whose pass rate is believed to be near a target: MoPPS, model predictive prompt selection (arXiv 2507.04632)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from ada.config import config
from ada.data.selection.epochs import require_enough
from ada.sampling.passrate.ema import EMA
from ada.types import Pool, Prompt


@config
class MoPPS:
    """One draw from each prompt's posterior Beta(a, b), and the prompts whose draw is nearest to the target (Thompson sampling).

    On k right of m: a <- discount a + (1 - discount) prior_right + k, and b likewise with m - k. A prompt never seen has the prior.

    The authors' code chooses among a random part of the prompts at each step; here all of them are candidates.
    """

    name: Literal["mopps"] = "mopps"
    target: Annotated[float, Field(ge=0, le=1, description="pass rate that is preferred")] = 0.5
    discount: Annotated[
        float, Field(ge=0, le=1, description="lambda: what a prompt's earlier counts keep of their weight at each visit; 1 never forgets")
    ] = 0.5
    prior_right: Annotated[float, Field(gt=0, description="alpha: right answers that the prior is worth")] = 1.0
    prior_wrong: Annotated[float, Field(gt=0, description="beta: wrong answers that the prior is worth")] = 1.0

    def start(self, prompts: Sequence[Prompt], seed: int) -> PosteriorPrompts:
        return PosteriorPrompts(self, prompts, seed)


class PosteriorPrompts:
    def __init__(self, config: MoPPS, prompts: Sequence[Prompt], seed: int):
        self.config, self.prompts, self.seed = config, prompts, seed
        self.asked = 0  # calls of `next`: each has random numbers of its own
        # Ada-EMA's counts (T, P) are the same recursion: a = P + prior_right, b = T - P + prior_wrong.
        self.counts = EMA(discount=config.discount, prior_right=config.prior_right, prior_wrong=config.prior_wrong).start()

    def next(self, count: int, beside: Collection[str] = ()) -> list[Prompt]:
        """`count` prompts, nearest to the target first. Raises ValueError where there are not so many."""
        require_enough(self.prompts, count, beside)
        beliefs = self.counts.believe(self.prompts)
        mean, strength = np.array([b.mean for b in beliefs]), np.array([b.strength for b in beliefs])
        weight = strength + self.config.prior_right + self.config.prior_wrong
        drawn = np.random.default_rng([self.seed, self.asked]).beta(mean * weight, (1 - mean) * weight)
        self.asked += 1
        nearest = (self.prompts[i] for i in np.argsort(np.abs(drawn - self.config.target), kind="stable"))
        return [prompt for prompt in nearest if prompt.id not in beside][:count]

    def learn(self, pools: Sequence[Pool]) -> None:
        self.counts.learn(pools)

    def state_dict(self) -> dict[str, Any]:
        return {"asked": self.asked, "counts": self.counts.state_dict()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.asked = state["asked"]
        self.counts.load_state_dict(state["counts"])
