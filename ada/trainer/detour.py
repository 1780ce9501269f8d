"""What a rank does when its memory runs out in the middle of a forward pass, with gradient or without.

Under ZeRO the other ranks wait for it at every layer, so it may neither stop nor start again. It goes on through the remaining layers
without computing anything: each passes its input on and touches its weights, so that every gather and reduction takes place. What comes
out is worthless, on all ranks, and is thrown away by all of them (ada/trainer/actor.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import deepspeed
import torch
from torch import nn

from ada.trainer.policy import Policy


class Detour:
    """Around the decoder layers and the heads of policies; acts only inside `allowed`, and leaves the backward pass alone."""

    def __init__(self, *policies: Policy):
        self.failed = False  # since the last `allowed` began
        self._active = False
        self._passed: set[int] = set()  # modules that this micro-batch goes around
        for policy in policies:
            for layer in decoder_layers(policy):
                self._around(layer, lambda states, idle: states + idle.to(states.dtype))
            self._around(policy.head, lambda states, idle: (_of_tokens(states, idle), _of_tokens(states, idle)))

    @contextmanager
    def allowed(self) -> Iterator[None]:
        self.failed, self._active = False, True
        try:
            yield
        finally:
            self._active = False
            self._passed.clear()

    def next_micro_batch(self) -> None:
        self._passed.clear()

    def _around(self, module: nn.Module, instead: Callable[[torch.Tensor, torch.Tensor], Any]) -> None:
        inner = module.forward

        def forward(states: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
            in_backward = torch._C._current_graph_task_id() != -1  # a checkpointed layer, computed again
            if not self._passed or (in_backward and id(module) not in self._passed):
                try:
                    return inner(states, *args, **kwargs)
                except torch.OutOfMemoryError:
                    if not self._active or in_backward:
                        raise
            self.failed = True
            self._passed.add(id(module))
            idle = torch.stack([p.flatten()[0].float() for p in module.parameters()]).sum() * 0
            return instead(states, idle)

        module.forward = forward  # type: ignore[method-assign]


def decoder_layers(policy: Policy) -> list[nn.Module]:
    """Of a Hugging Face model: the modules of its one list of layers."""
    lists = [list(m) for m in policy.model.modules() if isinstance(m, nn.ModuleList)]
    return max(lists, key=len)


def whole_layers(policy: Policy) -> None:
    """Under ZeRO-3 each decoder layer is gathered and released as a whole, so that a rank can go around it."""
    deepspeed.utils.set_z3_leaf_modules(policy, [type(decoder_layers(policy)[0])])


def _of_tokens(states: torch.Tensor, idle: torch.Tensor) -> torch.Tensor:
    return states.float().sum(-1) * 0 + idle
