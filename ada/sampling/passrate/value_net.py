"""A network that reads the prompt: Reinforce-Ada-Est's value network (arXiv 2510.04996), as a small head on the policy's own states."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from typing import Annotated, Any, Literal

import torch
from pydantic import Field
from torch import nn
from torch.nn import functional as F

from ada.config import config
from ada.contracts import PromptStates
from ada.types import PassRate, Pool, Prompt


@config
class ValueNet:
    """V(x) = sigmoid(MLP(normalised state of x)), trained after each step on the binomial log-likelihood of its k right of m.

    It has a belief about a prompt that was never drawn, and forgets nothing about one that was; Ada-EMA is the other way about.
    """

    name: Literal["value_net"] = "value_net"
    hidden: Annotated[int, Field(ge=1, description="units of the one hidden layer")] = 64
    learning_rate: Annotated[float, Field(gt=0, description="AdamW step size of the network; the policy gets no gradient from it")] = 3e-3
    passes: Annotated[int, Field(ge=1, description="optimizer steps over a step's counts, all prompts at once")] = 4
    weight_decay: Annotated[float, Field(ge=0, description="AdamW decoupled weight decay of the network")] = 0.01

    def start(self, states: PromptStates) -> ValueNetEstimator:
        return ValueNetEstimator(self, states)


class ValueNetEstimator:
    """Every rank trains the same network on the same pools; beliefs are rank 0's. Before its first step it believes 1/2 of all."""

    def __init__(self, config: ValueNet, states: PromptStates):
        self.config, self.states = config, states
        self.network: nn.Sequential | None = None  # made when the first states tell their size
        self._read: dict[str, torch.Tensor] = {}  # states of the prompts of the step, as they were when it was believed of them

    def believe(self, prompts: Sequence[Prompt]) -> list[PassRate]:
        """Collective. The strength is 0: the network's word about a prompt stands for no number of its responses."""
        if not prompts:
            return []
        states_BH = self.states.of(prompts)
        self._read |= {prompt.id: state for prompt, state in zip(prompts, states_BH, strict=True)}
        if self.network is None:
            self._make(states_BH.shape[1])
        with torch.no_grad():
            means = self.states.agreed(self._logits(states_BH).sigmoid().tolist())
        return [PassRate(mean=mean, strength=0.0) for mean in means]

    def learn(self, pools: Sequence[Pool]) -> None:
        """Minimises -sum_x [k log V(x) + (m - k) log(1 - V(x))] / sum_x m. Pools without any verdict say nothing."""
        judged = [pool for pool in pools if pool.right + pool.wrong and pool.prompt.id in self._read]
        if judged:
            states_BH = torch.stack([self._read[pool.prompt.id] for pool in judged])
            right_B = torch.tensor([float(pool.right) for pool in judged])
            wrong_B = torch.tensor([float(pool.wrong) for pool in judged])
            for _ in range(self.config.passes):
                logits_B = self._logits(states_BH)
                likelihood = right_B * F.logsigmoid(logits_B) + wrong_B * F.logsigmoid(-logits_B)
                self.optimizer.zero_grad()
                (-likelihood.sum() / (right_B + wrong_B).sum()).backward()
                self.optimizer.step()
        self._read = {}

    def state_dict(self) -> dict[str, Any]:
        if self.network is None:
            return {}
        moments = self.optimizer.state_dict()["state"]
        return {
            "network": {name: value.clone() for name, value in self.network.state_dict().items()},
            "moments": {index: {name: value.clone() for name, value in of.items()} for index, of in moments.items()},
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._read = {}
        self.network = None
        if state:
            self._make(state["network"]["0.weight"].shape[1])
            assert self.network is not None
            self.network.load_state_dict(state["network"])
            groups = self.optimizer.state_dict()["param_groups"]
            self.optimizer.load_state_dict({"state": deepcopy(state["moments"]), "param_groups": groups})  # it would keep the very tensors

    def _make(self, size: int) -> None:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            self.network = nn.Sequential(nn.Linear(size, self.config.hidden), nn.GELU(), nn.Linear(self.config.hidden, 1))
        for parameter in self.network[2].parameters():
            nn.init.zeros_(parameter)
        self.optimizer = torch.optim.AdamW(self.network.parameters(), lr=self.config.learning_rate, weight_decay=self.config.weight_decay)

    def _logits(self, states_BH: torch.Tensor) -> torch.Tensor:
        assert self.network is not None
        return self.network(F.layer_norm(states_BH, states_BH.shape[1:]))[:, 0]  # type: ignore[no-any-return]
