"""A stand-in for a device that is too small: passes of more slots than it has room for raise what torch raises, in the model's middle."""

from __future__ import annotations

from typing import Literal

import torch

from ada.trainer.actor import Actor
from ada.trainer.detour import decoder_layers


class _Backward(torch.autograd.Function):
    @staticmethod
    def forward(ctx, states):
        return states.view_as(states)

    @staticmethod
    def backward(ctx, gradient):
        raise torch.OutOfMemoryError("stand-in: backward")


def too_small_for(actor: Actor, room: int, where: Literal["forward", "backward"] = "forward") -> list[int]:
    """From now on the last layer's MLP has room for `room` slots with gradients. The sizes it failed at are put into the list."""
    mlp = decoder_layers(actor.engine.module)[-1].mlp
    inner, failed = mlp.forward, []

    def forward(states):
        slots = states.shape[0] * states.shape[1]
        if slots <= room or not torch.is_grad_enabled():
            return inner(states)
        failed.append(slots)
        if where == "forward":
            raise torch.OutOfMemoryError("stand-in: forward")
        return _Backward.apply(inner(states))

    mlp.forward = forward
    return failed
