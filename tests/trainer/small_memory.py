"""A stand-in for a device that is too small: passes of more slots than it has room for raise what torch raises, in the model's middle."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

import torch
from torch import nn

from ada.trainer.detour import decoder_layers


class _Backward(torch.autograd.Function):
    @staticmethod
    def forward(ctx, states):
        return states.view_as(states)

    @staticmethod
    def backward(ctx, gradient):
        raise torch.OutOfMemoryError("stand-in: backward")


@contextmanager
def too_small_for(
    policy: nn.Module, room: int, where: Literal["forward", "backward", "without gradient"] = "forward"
) -> Iterator[list[int]]:
    """Inside, the last layer's MLP has room for `room` slots in passes of the kind. The sizes it failed at are put into the list."""
    mlp = decoder_layers(policy)[-1].mlp
    inner, failed = mlp.forward, []

    def forward(states):
        slots = states.shape[0] * states.shape[1]
        if slots <= room or torch.is_grad_enabled() != (where != "without gradient"):
            return inner(states)
        failed.append(slots)
        if where == "backward":
            return _Backward.apply(inner(states))
        raise torch.OutOfMemoryError(f"stand-in: {where}")

    mlp.forward = forward
    try:
        yield failed
    finally:
        mlp.forward = inner
