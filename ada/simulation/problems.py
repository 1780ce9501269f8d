"""Prompts whose pass rates follow a profile, and what earlier draws would have made one believe of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ada.sampling.profile import Profile
from ada.types import PassRate, Prompt


class Problems:
    def __init__(self, profile: Profile, belief_draws: int, seed: int):
        self.profile, self.belief_draws = profile, belief_draws
        self.dice = np.random.default_rng(seed)
        self.pass_rates: dict[str, float] = {}  # by prompt id

    def next(self, count: int) -> list[Prompt]:
        """`count` new ones; of the same seed, the same whatever was asked for before, prompt by prompt."""
        law = self.profile
        places = np.searchsorted(np.cumsum(law.weights_P), self.dice.random(count), side="right")
        prompts = []
        for pass_rate in law.pass_rates_P[np.minimum(places, len(law.pass_rates_P) - 1)].tolist():
            name = f"p/{len(self.pass_rates)}"
            self.pass_rates[name] = pass_rate
            prompts.append(Prompt(name, (0,), "right", "p", name))
        return prompts

    def believe(self, prompts: Sequence[Prompt]) -> list[PassRate]:
        """The mean of a uniform prior and of `belief_draws` responses of the past."""
        n, rates = self.belief_draws, [self.pass_rates[prompt.id] for prompt in prompts]
        right = np.random.default_rng(len(self.pass_rates)).binomial(n, rates).tolist()
        return [PassRate((k + 1) / (n + 2), float(n)) for k in right]
