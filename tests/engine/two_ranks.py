"""Run by torchrun on two ranks: uneven requests, a sync that succeeds, and syncs that must fail on both ranks alike."""

from __future__ import annotations

import sys

import torch
import torch.distributed as dist

from ada.engine.engines.vllm import VLLM
from ada.engine.sync import SyncError, sync
from ada.types import Draw
from tests.engine.conftest import GENERATION, random_qwen2
from tests.engine.test_contract import draw, finish, held_sequences, scores_by


def main(folder: str) -> None:
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    engine = VLLM(max_concurrent=8, cpu_kv_cache_gib=0.25).start(folder, GENERATION, "float32", seed=rank)
    model = random_qwen2(tied=True, seed=21)
    held = held_sequences()

    def synced(actor: torch.nn.Module, version: int, reference: torch.nn.Module) -> str:
        def check(sequences: list[tuple[int, ...]]) -> list[list[float]]:
            dist.barrier()  # an actor's forward is a collective: it must be reached by every rank
            return scores_by(reference, sequences)

        return sync(actor.named_parameters(), engine, version, check, held, 1e-4).fingerprint

    fingerprint = synced(model, 1, model)
    uneven: list[Draw] = [draw(number, index) for number in range(2 if rank else 9) for index in range(2)]
    done = finish(engine, [*uneven, draw(50)])
    same: list[object] = [None, None]
    dist.all_gather_object(same, (done["p/50-9", 0], fingerprint))
    assert same[0] == same[1]  # the draw, to the bit, wherever it was drawn

    for actor, reference, message in (
        (random_qwen2(tied=True, seed=21 + rank), None, "ranks sent different weights"),
        (
            model,
            random_qwen2(tied=True, seed=21 + rank),
            "on 1 of 2 ranks; rank 1: SyncError: after the sync the engine's log-probs differ",
        ),
    ):
        try:
            synced(actor, 2, reference or actor)
        except SyncError as error:
            assert message in str(error), error
        else:
            raise AssertionError(f"no SyncError: {message}")
        assert engine.weight_version == -1
    synced(model, 3, model)
    assert finish(engine, uneven[:1])
    engine.close()
    dist.barrier()
    dist.destroy_process_group()
    print("rank is done", flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
