"""The actor's whole state, whatever the number of ranks: float32 master weights and AdamW's two moments of each parameter.

DeepSpeed's own checkpoints are its shards as they lie. Here each parameter is put together and taken apart by DeepSpeed's accessors
(deepspeed.utils.safe_get_full_fp32_param and its siblings), so any world size and ZeRO stage can read what any other wrote.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator
from typing import Any

import deepspeed
import torch
from deepspeed.utils import (
    safe_get_full_fp32_param,
    safe_get_full_optimizer_state,
    safe_set_full_fp32_param,
    safe_set_full_optimizer_state,
)

MASTER, MOMENTS = "master", ("exp_avg", "exp_avg_sq")
Tensors = dict[str, torch.Tensor]


def gathered(engine: deepspeed.DeepSpeedEngine, updates: int, keep: Callable[[int], bool]) -> Iterator[tuple[int, Tensors]]:
    """Number and state of each decoder layer (`<parameter>/master`, ...), on CPU. Collective; a rank gets the layers it wants to `keep`.

    `updates`: optimizer steps taken. Before the first, the moments are 0.
    """
    named = engine.module.named_parameters()
    for number, (_, layer) in enumerate(itertools.groupby(named, key=lambda item: layer_of(item[0]))):
        wanted = keep(number)
        tensors: Tensors = {}
        for name, parameter in layer:
            for part in (MASTER, *MOMENTS):
                whole = _get(engine, parameter, part, updates)  # all ranks: it is put together by all of them
                if wanted:
                    tensors[f"{name}/{part}"] = whole.detach().to("cpu", copy=True).contiguous()
        if wanted:
            yield number, tensors


@torch.no_grad()
def restore(engine: deepspeed.DeepSpeedEngine, updates: int, read: Callable[[str], torch.Tensor]) -> None:
    """Puts in what `gathered` gave: `read` gives a tensor by its name, on every rank. Collective.

    Raises KeyError (of `read`) or ValueError where the model is not the one that was saved.
    """
    if updates:
        _start_moments(engine, updates)
    for name, parameter in engine.module.named_parameters():
        for part in (MASTER, *MOMENTS) if updates else (MASTER,):
            value = read(f"{name}/{part}")
            shape = tuple(getattr(parameter, "ds_shape", parameter.shape))
            if tuple(value.shape) != shape:
                raise ValueError(f"{name}: the checkpoint has shape {list(value.shape)}, the model {list(shape)}")
            _set(engine, parameter, part, value.to(engine.device))


def layer_of(name: str) -> str:
    """The decoder layer a weight belongs to (`model.layers.3`), or the weight itself."""
    found = re.match(r".*?\.\d+(?=\.)", name)
    return found[0] if found else name


def _get(engine: deepspeed.DeepSpeedEngine, parameter: torch.nn.Parameter, part: str, updates: int) -> torch.Tensor:
    if part == MASTER:
        return safe_get_full_fp32_param(parameter) if engine.zero_optimization() else parameter
    if not updates:
        return torch.zeros(tuple(getattr(parameter, "ds_shape", parameter.shape)))
    return safe_get_full_optimizer_state(parameter, part) if engine.zero_optimization() else engine.optimizer.state[parameter][part]


def _set(engine: deepspeed.DeepSpeedEngine, parameter: torch.nn.Parameter, part: str, value: torch.Tensor) -> None:
    sharded = engine.zero_optimization()
    if part != MASTER:
        if sharded:
            safe_set_full_optimizer_state(parameter, value, part)
        else:
            engine.optimizer.state[parameter][part].copy_(value)
        return
    if sharded:
        safe_set_full_fp32_param(parameter, value)
    # The weights of the passes are the masters, rounded to their own precision, as after every step.
    with deepspeed.zero.GatheredParameters([parameter], modifier_rank=0, enabled=hasattr(parameter, "ds_id")):
        parameter.data.copy_(value)


def _start_moments(engine: deepspeed.DeepSpeedEngine, updates: int) -> None:
    """Makes the state that torch's AdamW makes at its first step, for DeepSpeed's accessors to fill."""
    wrapper: Any = engine.optimizer
    adam: torch.optim.Optimizer = wrapper.optimizer if engine.zero_optimization() else wrapper
    flat = getattr(wrapper, "fp32_partitioned_groups_flat", None)  # stage 3 shows AdamW one of its groups at a time
    for tensor in flat if flat is not None else [p for group in adam.param_groups for p in group["params"]]:
        adam.state[tensor] = {"step": torch.tensor(float(updates), device=tensor.device)}
        adam.state[tensor] |= {part: torch.zeros_like(tensor) for part in MOMENTS}
    if hasattr(wrapper, "_lazy_init_hp_params_optimizer_state"):
        wrapper._lazy_init_hp_params_optimizer_state()  # stages 1 and 2 look up a parameter's share of it only from then on
