"""A stand-in for a device that is too small: passes of more slots than it has room for raise what torch raises, in the model's middle."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

import torch

from ada.trainer.detour import decoder_layers
from ada.trainer.policy import Policy

Where = Literal["forward", "backward", "without gradient"]
At = Literal["first layer", "last layer", "head"]


class _Backward(torch.autograd.Function):
    @staticmethod
    def forward(ctx, states):
        return states.view_as(states)

    @staticmethod
    def backward(ctx, gradient):
        raise torch.OutOfMemoryError("stand-in: backward")


@contextmanager
def too_small_for(policy: Policy, room: int, where: Where = "forward", at: At = "last layer") -> Iterator[list[int]]:
    """Inside, a layer's MLP has room for `room` slots, or the head for as many tokens. The sizes it failed at are put into the list."""
    layers = decoder_layers(policy)
    places = {"first layer": (layers[0].mlp, "forward"), "last layer": (layers[-1].mlp, "forward"), "head": (policy.head, "_score")}
    module, name = places[at]
    inner, failed = getattr(module, name), []

    def compute(states, *rest):
        slots = states.shape[:-1].numel()
        if slots <= room or torch.is_grad_enabled() != (where != "without gradient"):
            return inner(states, *rest)
        failed.append(slots)
        if where == "backward":
            return inner(_Backward.apply(states), *rest)
        raise torch.OutOfMemoryError(f"stand-in: {where}")

    setattr(module, name, compute)
    try:
        yield failed
    finally:
        setattr(module, name, inner)
