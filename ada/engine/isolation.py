"""Keeps vLLM's marks off the trainer's process."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from contextlib import contextmanager

import numpy
import torch


@contextmanager
def own_random_state() -> Iterator[None]:
    """Inside, vLLM may seed python, numpy and torch or draw from them; after, they go on as if it had not."""
    python, of_numpy, of_torch = random.getstate(), numpy.random.get_state(), torch.get_rng_state()
    of_cuda = torch.cuda.get_rng_state() if torch.cuda.is_initialized() else None
    try:
        yield
    finally:
        random.setstate(python)
        numpy.random.set_state(of_numpy)
        torch.set_rng_state(of_torch)
        if of_cuda is not None:
            torch.cuda.set_rng_state(of_cuda)


@contextmanager
def compiling(allowed: bool) -> Iterator[None]:
    """Unless `allowed`, torch compiles nothing inside: on a CPU vLLM's first sampling step otherwise takes 3-25 s."""
    from torch._dynamo import config  # here, because it takes a second to import and only vLLM needs it

    before = config.disable
    config.disable = before or not allowed
    try:
        yield
    finally:
        config.disable = before


@contextmanager
def own_process_state() -> Iterator[None]:
    """Inside, vLLM may also replace torch.set_num_threads and rewrite environment variables, as it does when it is built; only its
    `VLLM_*` variables stay."""
    environment, set_num_threads = dict(os.environ), torch.set_num_threads
    try:
        with own_random_state():
            yield
    finally:
        torch.set_num_threads = set_num_threads
        for name in os.environ.keys() | environment.keys():
            if name.startswith("VLLM_") or os.environ.get(name) == environment.get(name):
                continue
            if name in environment:
                os.environ[name] = environment[name]
            else:
                del os.environ[name]
