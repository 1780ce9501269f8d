"""Run by torchrun on four ranks: two engines of two ranks each, and verdicts at times of their own. Rank 0 leaves the pools in a file."""

from __future__ import annotations

import pickle
import sys
from collections import Counter
from pathlib import Path

import torch.distributed as dist

from ada.engine.errors import EngineError
from ada.engine.lockstep import Lockstep
from ada.ranks import Ranks
from ada.sampling.collector import Collector, Stopped
from ada.sampling.schedules.seq import Seq
from ada.sampling.streaming import Stream, Streaming
from ada.sampling.windows import fixed
from ada.types import Draw, Pool
from tests.sampling.stand_in import StandInEngine, StandInRewards, always, decode, mixed, one_after_the_other, prompts

SCHEDULE = Seq(exit="balance", check_every=4, max_draws=16, positives=2, negatives=2)
ASKED = prompts(30)


def shared(engine: StandInEngine) -> Lockstep:
    return Lockstep(engine, 2)  # type: ignore[arg-type]


def streamed(own: StandInEngine, collector: Collector) -> None:
    """Three steps with prompts that stay open: what is interrupted ends on both ranks of an engine, and goes on, on both, as it was."""
    stream = Stream(Streaming(open=1.5, max_staleness=99), collector, 10, SCHEDULE, fixed(8))
    left, opened_in, earlier = iter(prompts(60, "stream")), {}, (len(own.submitted), len(own.aborted))

    def choose(count: int, beside: object) -> list:
        chosen = [next(left) for _ in range(count)]
        opened_in.update((prompt.id, f"step-{step}") for prompt in chosen)
        return chosen

    for step in (1, 2, 3):
        own.weight_version = step
        pools, _ = stream.collect(step, step, choose, lambda asked: [None] * len(asked))
        assert len(pools) == 10 and not own.running
        for pool in pools:
            (alone,) = one_after_the_other(mixed, SCHEDULE, opened_in[pool.prompt.id], [pool.prompt], [None])
            assert (verdicts(pool), pool.outcome) == (verdicts(alone), alone.outcome)

    of_ranks: list = [None] * 4
    begun = [(*key(draw), draw.begun) for draw in own.submitted[earlier[0] :]]
    dist.all_gather_object(of_ranks, (begun, list(map(key, own.aborted[earlier[1] :])), list(map(key, own.interrupted))))
    for (submitted, aborted, interrupted), (followed, ended, no_one) in (of_ranks[:2], of_ranks[2:]):
        assert submitted == followed and sorted(aborted + interrupted) == sorted(ended) and not no_one
    assert of_ranks[0][2] + of_ranks[2][2]  # which of the engines is the last to draw depends on when verdicts come
    assert any(had.token_ids for begun, _, _ in of_ranks for *_, had in begun)


def key(draw: Draw) -> tuple[str, int]:
    return draw.prompt.id, draw.index


def verdicts(pool: Pool) -> list:
    return [(attempt.response.draw, attempt.text, attempt.failure) for attempt in pool.attempts]


def main(out: str) -> None:
    dist.init_process_group("gloo")
    rank, first = dist.get_rank(), dist.get_rank() % 2 == 0
    own = StandInEngine(mixed, order=rank // 2)
    rewards, turns, closed = StandInRewards(order=rank), Counter[str](), []
    stop_at = 10**9

    def should_stop() -> bool:
        turns["all"] += 1
        return turns["all"] > stop_at

    collector = Collector(shared(own), rewards, decode, Ranks(), seed=7, max_concurrent=12, should_stop=should_stop)  # type: ignore[arg-type]
    pools, cost = collector.collect("step-1", ASKED, SCHEDULE, window=fixed(8), closed=lambda pool: closed.append(pool.prompt.id))
    assert not own.running and turns["all"] > 1
    assert (len(closed) > 0) == first  # the first rank of an engine decides, the other follows
    assert first or not rewards.pending

    of_ranks: list = [None] * 4
    dist.all_gather_object(of_ranks, ([(d.prompt.id, d.index) for d in own.submitted], own.steps, len(own.aborted)))
    assert of_ranks[0] == of_ranks[1] and of_ranks[2] == of_ranks[3]  # the same calls, in the same order
    assert of_ranks[0][0] and of_ranks[2][0] and of_ranks[0][0] != of_ranks[2][0]

    streamed(own, collector)

    stop_at = turns["all"] + 5 if rank == 2 else stop_at  # a stop that one rank alone hears of
    try:
        collector.collect("step-2", ASKED, SCHEDULE, window=fixed(8))
    except Stopped:
        pass
    else:
        raise AssertionError("not stopped")
    assert not own.running

    unlike = shared(StandInEngine(always("W" if rank == 3 else "R")))
    group, source = unlike._group, unlike._first

    def three_steps() -> None:
        collector.engine = unlike
        for draw in drawn:
            unlike.submit(draw)
        for _ in range(3):
            unlike.step()

    drawn = own.submitted[:3]
    try:
        unlike.drive(three_steps, turn=lambda: None)
        assert rank != 3
    except EngineError as error:
        assert rank == 3 and "ranks 2 and 3 hold one engine (engine.tensor_parallel = 2) and drew different tokens" in str(error)
        for _ in range(2):  # what rank 2 still has to tell
            dist.broadcast_object_list([None], src=source, group=group)
    if rank == 0:
        Path(out).write_bytes(pickle.dumps((pools, cost)))
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1])
