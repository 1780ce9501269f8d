"""Steps of streaming, as the real engine takes them and as the model says: the same prompts with the same pass rates, other draws."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence

from ada.sampling.collector import Collector
from ada.sampling.schedules.uniform import Uniform
from ada.sampling.streaming import Stream
from ada.simulation.draws import HashedDraws, Lengths
from ada.simulation.samplers import Sampler
from ada.simulation.setting import Setting
from ada.simulation.steps import Job
from ada.types import PassRate, Prompt

BEFORE, STEPS, PREDICTED, DRAWS = 3, 16, 60, 16  # steps that do not count, that do, here and in the model; draws to know a prompt by


class Known:
    """Prompts with pass rates and beliefs from draws of their own."""

    def __init__(self, collector: Collector, prompts: Sequence[Prompt]):
        pools, _ = collector.collect("known", prompts, Uniform(draws=DRAWS))
        self.prompts = prompts
        self.pass_rates = {pool.prompt.id: pool.right / pool.drawn for pool in pools}
        self.tokens = sorted(len(a.response.token_ids) for pool in pools for a in pool.attempts)

    def believe(self, asked: Sequence[Prompt]) -> list[PassRate]:
        return [PassRate((self.pass_rates[p.id] * DRAWS + 1) / (DRAWS + 2), float(DRAWS)) for p in asked]


def measured(
    collector: Collector, sampler: Sampler, prompts_per_step: int, known: Known, other: Callable[[], None]
) -> list[tuple[float, float]]:
    """Seconds of each step, without an update, and of `other`, which comes after each, so that a busy machine slows both."""
    found = []
    for seconds in _seconds(collector, sampler, prompts_per_step, known, collector.engine.weight_version, time.perf_counter, STEPS):
        began = time.perf_counter()
        other()
        found.append((seconds, time.perf_counter() - began))
    return found


def predicted(setting: Setting, sampler: Sampler, prompts_per_step: int, known: Known) -> list[float]:
    typical = Lengths(f"lognormal({known.tokens[len(known.tokens) // 2]},0)", setting.lengths.longest)
    job = Job(setting, HashedDraws(known.pass_rates, typical), gpus=1, seed=0)
    return list(_seconds(job.collector, sampler, prompts_per_step, known, 0, lambda: job.machines[0].engine.clock, PREDICTED))


def _seconds(
    collector: Collector, sampler: Sampler, prompts_per_step: int, known: Known, version: int, clock: Callable[[], float], steps: int
) -> Iterator[float]:
    assert sampler.streaming is not None
    stream = Stream(sampler.streaming, collector, prompts_per_step, sampler.schedule, sampler.window)
    queue = deque(known.prompts)

    def choose(count: int, beside: Collection[str]) -> list[Prompt]:
        chosen = [prompt for prompt in queue if prompt.id not in beside][:count]
        for prompt in chosen:
            queue.remove(prompt)
            queue.append(prompt)
        return chosen

    for step in range(1, BEFORE + steps + 1):
        began = clock()
        stream.collect(step, version, choose, known.believe)
        if step > BEFORE:
            yield clock() - began
