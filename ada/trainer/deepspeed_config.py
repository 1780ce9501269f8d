"""TrainerConfig -> DeepSpeed's own configuration. What DeepSpeed would otherwise choose silently is always said."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from deepspeed.runtime.zero.linear import zero3_linear_wrap

from ada.trainer.config import TrainerConfig


def deepspeed_config(trainer: TrainerConfig, dtype: torch.dtype) -> dict[str, Any]:
    return {
        # The actor decides how many micro-batches an update has and divides the loss itself; DeepSpeed's own counts stay at 1.
        "train_micro_batch_size_per_gpu": 1,
        "gradient_accumulation_steps": 1,
        "gradient_clipping": trainer.max_grad_norm,  # silent, it would clip at 1
        "bf16": {"enabled": dtype == torch.bfloat16, "check_grad_overflow": True},  # no step on a gradient that is not finite
        "data_types": {"grad_accum_dtype": "fp32"},
        "zero_optimization": {"stage": trainer.zero_stage, "memory_efficient_linear": False},  # see sharded_linear
        "steps_per_print": None,
    }


@contextmanager
def sharded_linear(trainer: TrainerConfig) -> Iterator[None]:
    """Under ZeRO-3, DeepSpeed's linear function in the place of torch's: that one would keep the gathered weights until the backward pass.

    DeepSpeed's own switch for it replaces torch's function for good, and so for the engine in this process too.
    """
    linear = torch.nn.functional.linear
    if trainer.zero_stage == 3:
        torch.nn.functional.linear = zero3_linear_wrap
    try:
        yield
    finally:
        torch.nn.functional.linear = linear
