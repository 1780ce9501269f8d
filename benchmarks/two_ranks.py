"""python -m benchmarks.two_ranks: how long ranks wait for each other where prompts are pulled, and where they are split beforehand.

Two processes over gloo, each with a real engine of one thread and a reward worker; the micro-world, whose pass rates go from 0 to 1.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
import torch.multiprocessing as multiprocessing
from transformers import AutoTokenizer

from ada.data.microworld import BASE
from ada.data.prompts import PromptFormat, load_prompts
from ada.data.sources.microworld import Microworld
from ada.engine.engines.transformers import Transformers
from ada.engine.generation import Generation
from ada.ranks import Ranks
from ada.rewards.config import Reward
from ada.rewards.service import RewardService
from ada.sampling.collection import Collection
from ada.sampling.collector import Collector
from ada.types import Prompt
from benchmarks.collecting import SEQ

WORLD, PROMPTS, STEPS, SLOTS = 2, 32, 8, 32


class Timed(Collection):
    """Remembers how long its rank had work."""

    worked = 0.0

    def run(self) -> None:
        began = time.perf_counter()
        super().run()
        Timed.worked = time.perf_counter() - began


class Split(Ranks):
    """Each rank gets its own half of the prompts, one after the other: the first half, or every second one."""

    def __init__(self, halves: bool):
        super().__init__()
        self.halves = halves

    def claim(self, counter: str) -> int:
        self._counters[counter] = number = self._counters.get(counter, -1) + 1
        if number >= PROMPTS // WORLD:
            return PROMPTS
        return self.rank * PROMPTS // WORLD + number if self.halves else number * WORLD + self.rank


def measure(rank: int, meeting: str) -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{meeting}", rank=rank, world_size=WORLD)
    tokenizer = AutoTokenizer.from_pretrained(BASE)
    generation = Generation(max_prompt_tokens=13, max_response_tokens=20)
    engine = Transformers(max_concurrent=SLOTS).start(str(BASE), generation, "float32", seed=0)
    engine.trust_folder_weights(0)
    rewards = RewardService(Reward(workers=1))
    prompts = load_prompts(Microworld(), "microworld", PromptFormat(), tokenizer, 13)
    decode = partial(tokenizer.decode, skip_special_tokens=True)
    ways = {"pulled": Ranks(), "every second": Split(halves=False), "halves": Split(halves=True)}
    found: dict[str, list[list[float]]] = {name: [] for name in ways}
    for step in range(STEPS + 1):  # the first one warms up
        chosen = prompts[step * PROMPTS : (step + 1) * PROMPTS]
        for name, ranks in list(ways.items())[:: 1 if step % 2 else -1]:
            collector = Collector(engine, rewards, decode, ranks, seed=0, max_concurrent=SLOTS, collection=Timed)
            worked = _seconds(collector, f"{name}-{step}", f"step-{step}", chosen)
            if step:
                found[name].append(worked)
    if rank == 0:
        for name, steps in found.items():
            idle = [1 - sum(worked) / (WORLD * max(worked)) for worked in steps]
            low, middle, high = statistics.quantiles(idle, n=4, method="inclusive")
            seconds = statistics.mean(max(worked) for worked in steps)
            print(f"{name:<14} idle share {middle:.3f} ({low:.3f} to {high:.3f} in {STEPS} steps), {seconds:.2f} s a step", flush=True)
    rewards.close()
    engine.close()
    dist.barrier()
    dist.destroy_process_group()


def _seconds(collector: Collector, way: str, name: str, prompts: Sequence[Prompt]) -> list[float]:
    """That each rank had work."""
    collector.numbers = _Named(way)  # type: ignore[assignment]
    dist.barrier()
    collector.collect(name, prompts, SEQ)
    return collector.ranks.gather(Timed.worked)


class _Named:
    """Numbers of collections that no other collector's counters have."""

    def __init__(self, way: str):
        self.way = way

    def __next__(self) -> Any:
        return self.way


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="ada-ranks-") as scratch:
        multiprocessing.spawn(measure, args=(str(Path(scratch) / "meeting"),), nprocs=WORLD)


if __name__ == "__main__":
    main()
