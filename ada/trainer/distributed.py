"""The process group that the trainer and the engine share. It comes before both: DeepSpeed first, then models and engines."""

from __future__ import annotations

import os
import warnings

import torch
import torch.distributed as dist

ALONE = "ADA_GROUP_OF_ONE"  # process and port of a group that a process made for itself; its children inherit the variables, not the group


def start_distributed() -> tuple[int, int]:
    """Joins torchrun's process group, or makes one of a single process; returns (rank, world size). Does nothing the second time.

    gloo serves tensors on CPU, nccl those on GPU. Must run before an engine is built: an engine makes a group of one rank otherwise.
    """
    gpu = torch.cuda.is_available()
    if not gpu:
        os.environ.setdefault("DS_ACCELERATOR", "cpu")
    warnings.filterwarnings("ignore", r"`torch\.distributed\..*` is deprecated", FutureWarning)  # DeepSpeed's calls, one warning each
    import deepspeed

    if not dist.is_initialized():
        if gpu:
            torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", 0)))
        backend = "cpu:gloo,cuda:nccl" if gpu else "gloo"
        if "WORLD_SIZE" in os.environ and not _of_a_parent_alone():
            dist.init_process_group(backend)
        else:
            store = dist.TCPStore("127.0.0.1", 0, world_size=1, is_master=True)  # port 0: the system picks a free one
            os.environ |= {"RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(store.port)}
            os.environ[ALONE] = f"{os.getpid()}:{store.port}"
            dist.init_process_group(backend, store=store, rank=0, world_size=1)
    if not gpu:
        deepspeed.ops.__compatible_ops__["deepspeed_shm_comm"] = False  # else the first run compiles it for a minute; gloo does without
    deepspeed.init_distributed(dist_backend="nccl" if gpu else "gloo", auto_mpi_discovery=False, verbose=False)
    return dist.get_rank(), dist.get_world_size()


def _of_a_parent_alone() -> bool:
    """Whether the variables of a launcher are those that a parent process, being alone, set for itself."""
    process, _, port = os.environ.get(ALONE, ":").partition(":")
    return port == os.environ.get("MASTER_PORT") and process != str(os.getpid())
