"""Keeps vLLM's marks off the trainer's process."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from contextlib import contextmanager

import numpy


@contextmanager
def isolated(compiling: bool) -> Iterator[None]:
    """Inside, vLLM may reseed python, numpy and torch, replace torch.set_num_threads and rewrite the launcher's environment
    variables; after, all of it is as before. Only its own `VLLM_*` variables stay. Without `compiling`, torch compiles nothing.
    """
    import torch._dynamo

    environment = dict(os.environ)
    python, of_numpy, of_torch, set_num_threads = random.getstate(), numpy.random.get_state(), torch.get_rng_state(), torch.set_num_threads
    of_cuda = torch.cuda.get_rng_state() if torch.cuda.is_initialized() else None
    try:
        with torch._dynamo.config.patch(disable=torch._dynamo.config.disable or not compiling):
            yield
    finally:
        random.setstate(python)
        numpy.random.set_state(of_numpy)
        torch.set_rng_state(of_torch)
        if of_cuda is not None:
            torch.cuda.set_rng_state(of_cuda)
        torch.set_num_threads = set_num_threads
        for name in os.environ.keys() | environment.keys():
            if name.startswith("VLLM_"):
                continue
            if name not in environment:
                del os.environ[name]
            elif os.environ.get(name) != environment[name]:
                os.environ[name] = environment[name]
