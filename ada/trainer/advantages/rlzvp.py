"""Prompts whose answers are all right, or all wrong, learn by their tokens' entropy: RL-ZVP (arXiv 2509.21880)."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from ada.config import config
from ada.trainer.advantages.centred import Centred
from ada.types import Group


@config
class RLZVP:
    """With H_t the policy's entropy at token t, in nats and held constant: a token of a response to a prompt always right has advantage
    alpha H_t, of one never right -alpha (max_k H_k - H_t), k over the response. Every other prompt is GRPO's.

    Results depend on alpha (the paper's table 3): tune it; the default is no more than a place to begin.

    `advantages` gives alpha and -alpha, and `by_entropy` says where; the actor knows the entropies (ada/trainer/entropy_guidance.py).
    """

    name: Literal["rlzvp"] = "rlzvp"
    alpha: Annotated[float, Field(gt=0, description="advantage of a token for a nat of entropy, where all answers are alike")] = 0.1
    otherwise: Annotated[Centred, Field(description="advantage of prompts with both outcomes")] = Centred(baseline="group", scale="std")

    def by_entropy(self, group: Group) -> bool:
        """All of the pool are right or all wrong, and what is trained on has equal rewards."""
        return group.pass_rate in (0.0, 1.0) and len(set(group.rewards)) == 1

    def advantages(self, group: Group) -> list[float]:
        if not self.by_entropy(group):
            return self.otherwise.advantages(group)
        return [self.alpha if group.pass_rate else -self.alpha] * len(group.attempts)
