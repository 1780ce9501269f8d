"""Run by torchrun on two ranks; rank 0 leaves what it saw in a file, for test_two_ranks.py to judge."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path
from unittest import mock

import deepspeed
import torch

from ada.trainer.actor import Actor
from ada.trainer.batching import pack
from ada.trainer.config import TrainerConfig
from ada.trainer.corrections.tis import TIS
from ada.trainer.deepspeed_config import deepspeed_config
from ada.trainer.distributed import start_distributed
from ada.trainer.kl.k3 import K3
from ada.trainer.losses.clipped import Clipped
from ada.trainer.policy import load_policy
from ada.types import Batch
from tests.trainer.plain import sequences
from tests.trainer.small_memory import too_small_for


def start(folder: Path, stage: int, dtype=torch.float32) -> Actor:
    keys = {"learning_rate": 1e-3, "beta2": 0.95, "epsilon": 1e-3, "weight_decay": 0.1, "max_grad_norm": 0.5}
    keys |= {"entropy_coefficient": 0.01, "micro_batch_tokens": 70, "row_tokens": 24, "zero_stage": stage}
    keys |= {"kl": K3(coefficient=0.05), "correction": TIS(cap=2.0)}
    return Actor.start(folder, TrainerConfig(**keys), dtype, 0.8)


def weights(actor: Actor) -> dict[str, torch.Tensor]:
    return {name: w.clone() for name, w in actor.named_weights()}


def one_stage(folder: Path, scratch: Path, stage: int, rank: int) -> dict:
    actor = start(folder, stage)
    batches = pack(sequences(), rank, 2, 70, 24)
    old = actor.logprobs(batches)
    first = actor.update(batches, old, Clipped())
    saved = {name: tensor for _, layer in actor.state(lambda number: True) for name, tensor in layer.items()}
    own = [number for number, _ in actor.state(lambda number: number % 2 == rank)]  # as a checkpoint is written: each rank its share
    second = actor.update(batches, old, Clipped())
    seen = {"stats": [dataclasses.asdict(first), dataclasses.asdict(second)], "weights": weights(actor), "saved": saved, "own": own}
    resumed = start(folder, stage)
    resumed.load_state(1, saved.__getitem__)
    seen["resumed"] = dataclasses.asdict(resumed.update(batches, old, Clipped()))
    seen["resumed_equal"] = all(torch.equal(a, b) for a, b in zip(weights(actor).values(), weights(resumed).values(), strict=True))
    # rank 1 has nothing to do, or nothing to ask: the ranks must not wait for one another
    lone = pack(sequences(1), rank, 2, 70, 24)
    seen["lone"] = dataclasses.asdict(actor.update(lone, actor.logprobs(lone), Clipped()))
    seen["scored"] = actor.token_logprobs([s.prompt_ids + s.response_ids for s in sequences(5 if rank == 0 else 0)])
    seen["still"] = still(folder, stage, batches)
    seen |= in_small_memory(folder, stage, batches, rank)
    actor.save_hf(scratch / f"hf{stage}")
    seen["final"] = weights(actor)
    return seen


def loaded(folder: Path, rank: int) -> dict:
    """A model as ZeRO-3 has it right after loading, and what an update makes of it and of one that every rank has loaded whole."""
    seen: dict = {}
    for dtype in (torch.float32, torch.bfloat16):
        keys = {"learning_rate": 1e-3, "micro_batch_tokens": 70, "row_tokens": 24, "kl": K3(coefficient=0.05)}
        policy = load_policy(folder, dtype, deepspeed_config(TrainerConfig(**keys), dtype))
        plain = load_policy(folder, dtype)
        held = {name: (p.numel(), p.ds_tensor.numel()) for name, p in policy.named_parameters()}
        buffers = [torch.equal(a, b) and a.dtype == b.dtype for a, b in zip(policy.buffers(), plain.buffers(), strict=True)]
        with deepspeed.zero.GatheredParameters(list(policy.parameters())):
            equal = [torch.equal(a, b) for a, b in zip(policy.parameters(), plain.parameters(), strict=True)]
        parted = Actor.start(folder, TrainerConfig(**keys), dtype, 0.8)
        with mock.patch("ada.trainer.actor.load_policy", lambda *args: load_policy(*args[:2])):
            whole = Actor.start(folder, TrainerConfig(**keys), dtype, 0.8)
        stats = [dataclasses.asdict(actor.update(pack(sequences(), rank, 2, 70, 24), None, Clipped())) for actor in (parted, whole)]
        trained = [torch.equal(a, b) for a, b in zip(weights(parted).values(), weights(whole).values(), strict=True)]
        sizes = {name: p.numel() for name, p in plain.named_parameters()}
        seen[dtype] = {"held": held, "sizes": sizes, "equal": equal, "buffers": buffers, "stats": stats, "trained": trained}
    return seen


def in_small_memory(folder: Path, stage: int, batches: list[Batch], rank: int) -> dict:
    """Memory runs out in the middle of a pass of one rank alone: both ranks halve their micro-batches, and come to the same as with more.

    In the first update in the forward pass of rank 0; in the second in the reference of rank 1, then in its backward pass.
    """
    small, all_ranks, halvings = start(folder, stage), [None, None], []
    policy, room = small.engine.module, lambda of, slots: slots if rank == of else 10_000
    old = small.old_logprobs(batches)
    with too_small_for(policy, room(0, 40)) as forward:
        seen = {"repeated": dataclasses.asdict(small.update(batches, old, Clipped()))}
    halvings.append(small.budget.halvings())
    small.budget.slots = 70
    at = "first layer" if stage % 2 else "last layer"
    with (
        too_small_for(small.reference.policy, room(1, 40), "without gradient") as in_reference,
        too_small_for(policy, room(1, 22), "backward", at) as backward,
    ):
        seen["repeated_again"] = dataclasses.asdict(small.update(batches, old, Clipped()))
    halvings.append(small.budget.halvings())
    seen["repeated_weights"] = weights(small)
    expected = small.logprobs(batches)
    small.budget.slots = 70
    with too_small_for(policy, room(1, 40), "without gradient") as in_pass:
        gaps = [float((a - b).abs().max()) for a, b in zip(small.logprobs(batches), expected, strict=True)]
    halvings.append(small.budget.halvings())
    torch.distributed.all_gather_object(all_ranks, [failed != [] for failed in (forward, in_reference, backward, in_pass)])
    return seen | {"gap": max(gaps), "halvings": halvings, "failed_on": all_ranks}


def still(folder: Path, stage: int, batches: list[Batch]) -> dict:
    """Without regularisers and with a learning rate of 0: clean batches, then rubbish wherever no response token is, then no advantage."""
    keys = {"learning_rate": 0.0, "epsilon": 1e-3, "micro_batch_tokens": 70, "row_tokens": 24, "zero_stage": stage}
    actor = Actor.start(folder, TrainerConfig(**keys), torch.float32, 0.8)
    before = weights(actor)
    clean, dirty = (dataclasses.asdict(actor.update(b, None, Clipped())) for b in (batches, [rubbish(b) for b in batches]))
    silent = [dataclasses.replace(b, advantages_RL=torch.zeros_like(b.advantages_RL)) for b in batches]
    return {
        "clean": clean,
        "dirty": dirty,
        "silent": dataclasses.asdict(actor.update(silent, None, Clipped())),
        "moved": not all(torch.equal(before[name], w) for name, w in weights(actor).items()),
    }


def rubbish(batch: Batch) -> Batch:
    """NaN as advantage and log-prob outside the mask, and other tokens at padding."""
    outside = ~batch.mask_RL
    return dataclasses.replace(
        batch,
        advantages_RL=batch.advantages_RL.masked_fill(outside, float("nan")),
        sampler_logprobs_RL=batch.sampler_logprobs_RL.masked_fill(outside, float("nan")),
        tokens_RL=batch.tokens_RL.masked_fill(batch.sequence_RL < 0, 1599),
    )


def main(folder: Path, scratch: Path) -> None:
    torch.set_num_threads(1)
    rank, world = start_distributed()
    assert world == 2
    seen = {stage: one_stage(folder, scratch, stage, rank) for stage in (0, 1, 2, 3)}
    seen["loaded"] = loaded(folder, rank)
    half = start(folder, 3, torch.bfloat16)
    stats = half.update(pack(sequences(), rank, 2, 70, 24), None, Clipped())
    seen["bfloat16"] = {"stats": dataclasses.asdict(stats), "weights": weights(half)}
    if rank == 0:
        torch.save(seen, scratch / "seen.pt")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
