"""Numbers of an update, pooled over all response tokens of all micro-batches and ranks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import torch
import torch.distributed as dist


@dataclass(frozen=True, slots=True)
class UpdateStats:
    """Means are over response tokens. `skipped`: the weights and Adam's moments were left alone, since no token had any gradient, or
    since it was not finite."""

    tokens: int
    sequences: int
    learning_rate: float
    loss: float = 0.0  # what was minimised: policy loss minus entropy bonus
    grad_norm: float = 0.0  # before clipping
    entropy: float | None = None  # nats; None where skipped, as are all below
    mismatch_abs_mean: float | None = None  # |log pi_old - log pi_sampler|
    mismatch_abs_max: float | None = None
    stale_tokens: int = 0  # of `tokens`, those drawn under older weights than the step's; the mismatch leaves them out
    stale_log_ratio_abs_mean: float | None = None  # |log pi_theta - log pi_sampler| of the stale tokens, before the update
    diagnostics: Mapping[str, float] = field(default_factory=dict)  # the loss's own: clip_fraction, ratio, ...
    skipped: bool = False
    not_finite: Literal["loss", "gradient"] | None = None  # what was NaN or infinite


class Sums:
    """Sums and maxima by name, in float64, made global with two collectives. Every rank must add the same names."""

    def __init__(self, device: torch.device):
        self.device = device
        self.sums: dict[str, torch.Tensor] = {}
        self.maxima: dict[str, torch.Tensor] = {}

    def add(self, name: str, values: torch.Tensor) -> None:
        value = values.detach().double().sum()
        self.sums[name] = self.sums[name] + value if name in self.sums else value

    def maximum(self, name: str, values: torch.Tensor) -> None:
        value = values.detach().double().max()
        self.maxima[name] = torch.maximum(self.maxima[name], value) if name in self.maxima else value

    def pooled(self) -> dict[str, float]:
        result: dict[str, float] = {}
        for values, operation in ((self.sums, dist.ReduceOp.SUM), (self.maxima, dist.ReduceOp.MAX)):
            if values:
                names = sorted(values)
                stacked = torch.stack([values[n] for n in names]).to(self.device)
                dist.all_reduce(stacked, op=operation)
                result |= dict(zip(names, stacked.tolist(), strict=True))
        return result
