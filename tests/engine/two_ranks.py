"""Run by torchrun on two ranks: uneven requests, a sync that succeeds, syncs that must fail on both ranks alike, and one engine of both."""

from __future__ import annotations

import sys

import torch
import torch.distributed as dist

from ada.engine.engines.vllm import VLLM
from ada.engine.lockstep import Lockstep
from ada.engine.sync import SyncError, sync
from ada.ranks import Ranks
from ada.types import Draw, Response
from tests.engine.conftest import GENERATION, random_qwen2
from tests.engine.test_contract import draw, finish, held_sequences, scores_by


def main(folder: str) -> None:
    dist.init_process_group("gloo")
    ranks, rank = Ranks(), dist.get_rank()
    engine = VLLM(max_concurrent=8, cpu_kv_cache_gib=0.25).start(folder, GENERATION, "float32", seed=rank)
    model = random_qwen2(tied=True, seed=21)
    held = held_sequences()

    def synced(actor: torch.nn.Module, version: int, reference: torch.nn.Module) -> str:
        def check(sequences: list[tuple[int, ...]]) -> list[list[float]]:
            dist.barrier()  # an actor's forward is a collective: it must be reached by every rank
            return scores_by(reference, sequences)

        return sync(actor.named_parameters(), engine, version, check, held, 1e-4, ranks).fingerprint

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
    held_together(folder, done if rank == 0 else {}, model, ranks)
    dist.barrier()
    dist.destroy_process_group()
    print("rank is done", flush=True)


def held_together(folder: str, alone: dict[tuple[str, int], Response], model: torch.nn.Module, ranks: Ranks) -> None:
    """Both ranks hold one engine. `alone`: draws of rank 0's own engine under the same weights; some are ended on the way."""
    settings = VLLM(max_concurrent=8, cpu_kv_cache_gib=0.25, tensor_parallel=2)
    engine = settings.start(folder, GENERATION, "float32", seed=0)
    assert isinstance(engine, Lockstep) and engine.ranks == 2
    report = sync(model.named_parameters(), engine, 4, lambda asked: scores_by(model, asked), held_sequences(), 1e-4, ranks)
    assert report.parameters == sum(p.numel() for p in model.parameters()) and report.fingerprint == engine.received.hexdigest()
    sizes = [p.numel() for p in engine.engine._vllm.collective_rpc(lambda worker: list(worker.get_model().parameters()))[0]]
    assert sum(sizes) < 0.8 * report.parameters  # norms are whole on both

    def collect() -> None:
        keys = sorted(alone)
        numbers = {key: int(key[0].split("/")[1].split("-")[0]) for key in keys}
        for key in keys:
            engine.submit(draw(numbers[key], key[1]))
        together: dict[tuple[str, int], Response] = {}
        ended = [draw(numbers[key], key[1]) for key in keys[:3]]
        resting: list[Draw] = []
        for step in range(1000):
            together |= {(response.prompt_id, response.draw): response for response in engine.step()}
            if step == 1:
                engine.abort(ended)
                resting = engine.interrupt([draw(numbers[key], key[1]) for key in keys[3:6]])
                for each in resting:
                    engine.submit(each)
            if len(together) >= len(alone) - len(ended):
                break
        assert len(together) >= len(alone) - len(ended) > 10
        assert resting
        for each in resting:  # vLLM goes on with other random numbers
            begun = len(each.begun)
            response, whole = together.pop((each.prompt.id, each.index)), alone[each.prompt.id, each.index]
            assert begun and response.token_ids[:begun] == whole.token_ids[:begun] and response.earlier == ((4, begun),)
        for key, response in together.items():
            assert (response.token_ids, response.finish_reason) == (alone[key].token_ids, alone[key].finish_reason)
            assert max(abs(a - b) for a, b in zip(response.logprobs, alone[key].logprobs, strict=True)) < 1e-4

    turns: list[None] = []
    engine.drive(collect, turn=lambda: turns.append(None))
    assert (len(turns) > 2) == (dist.get_rank() == 1) and not engine.engine._running

    wrong = random_qwen2(tied=True, seed=22)
    try:
        sync(model.named_parameters(), engine, 5, lambda asked: scores_by(wrong, asked), held_sequences(), 1e-4, ranks)
    except SyncError as error:
        assert "on 2 of 2 ranks" in str(error) and engine.weight_version == -1
    else:
        raise AssertionError("no SyncError")
    engine.close()


if __name__ == "__main__":
    main(sys.argv[1])
