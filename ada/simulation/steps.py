"""Steps of a job as the model sees them: the schedules and the collector of training, on simulated engines."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from ada.sampling.collector import Collector
from ada.sampling.grouping import group_of
from ada.sampling.schedules.dapo import Dapo
from ada.sampling.seeds import seed_of
from ada.simulation.crowd import Machine, SharedCounters, crowd, wait_for_all
from ada.simulation.draws import HashedDraws
from ada.simulation.engine import SimulatedEngine, decode
from ada.simulation.problems import Problems
from ada.simulation.rewards import SimulatedRewards
from ada.simulation.samplers import Sampler
from ada.simulation.setting import Setting
from ada.types import Pool, Prompt


@dataclass(frozen=True)
class StepForecast:
    """Means over steps, of the whole job."""

    seconds: float
    rollout_seconds: float
    update_seconds: float
    idle: float  # share of the ranks' rollout in which their engines decode nothing
    responses: float  # drawn, those beyond a resolving prefix included
    generated_tokens: float
    aborted_tokens: float
    trained_tokens: float
    staleness: float  # updates between the weights that wrote a trained token and those it is trained on, in the mean


def simulate(setting: Setting, sampler: Sampler, gpus: int, steps: int, seed: int = 0) -> StepForecast:
    problems = Problems(setting.profile, setting.belief_draws, seed)
    machines = [_machine(setting, problems) for _ in range(gpus)]
    collector = Collector(
        None,  # type: ignore[arg-type]
        None,  # type: ignore[arg-type]
        decode,
        _Alone(),  # type: ignore[arg-type]
        seed=seed,
        max_concurrent=setting.slots,
        collection=crowd(machines, SharedCounters(gpus)),  # type: ignore[arg-type]
    )
    count = setting.prompts * gpus
    with _without_garbage_collection():
        return _mean([_step(setting, sampler, collector, machines, problems, count, step, seed) for step in range(1, steps + 1)])


def _step(
    setting: Setting,
    sampler: Sampler,
    collector: Collector,
    machines: list[Machine],
    problems: Problems,
    count: int,
    step: int,
    seed: int,
) -> StepForecast:
    def refill(pools: list[Pool]) -> list[Prompt]:
        wanted = sampler.schedule.wanted(pools, count) if isinstance(sampler.schedule, Dapo) else 0
        return problems.next(wanted)

    busy = sum(machine.engine.busy for machine in machines)
    prompts = problems.next(count)
    pools, cost = collector.collect(
        f"step-{step}",
        prompts,
        sampler.schedule,
        window=sampler.window,
        believe=problems.believe,
        refill=refill,  # type: ignore[arg-type]
    )
    busy = sum(machine.engine.busy for machine in machines) - busy
    groups = [group_of(pool, sampler.group, sampler.group_size, seed_of(seed, "group", step, pool.prompt.id)) for pool in pools]
    trained = [len(a.response.token_ids) for group in groups for a in group.attempts]
    ages = [step - 1 - a.response.weight_version for group in groups for a in group.attempts]
    update = setting.update(sum(trained), len(machines))
    for machine in machines:
        machine.engine.clock += update
        machine.engine.weight_version = step
    wait_for_all(machines)
    return StepForecast(
        seconds=cost.seconds + update,
        rollout_seconds=cost.seconds,
        update_seconds=update,
        idle=1 - busy / (cost.seconds * len(machines)),
        responses=sum(pool.drawn for pool in pools) + cost.surplus,
        generated_tokens=cost.generated_tokens,
        aborted_tokens=cost.aborted_tokens,
        trained_tokens=sum(trained),
        staleness=sum(n * age for n, age in zip(trained, ages, strict=True)) / sum(trained),
    )


def _mean(steps: list[StepForecast]) -> StepForecast:
    names = StepForecast.__dataclass_fields__
    return StepForecast(**{name: sum(getattr(step, name) for step in steps) / len(steps) for name in names})


def _machine(setting: Setting, problems: Problems) -> Machine:
    law = HashedDraws(problems.pass_rates, setting.lengths)
    engine = SimulatedEngine(law, setting.decode, setting.start_seconds, setting.lengths.longest)
    return Machine(engine, SimulatedRewards(engine, setting.verdict_seconds))


class _Alone:
    """The ranks that the collector itself gathers from: all of the job are one process here."""

    world = 1

    @staticmethod
    def gather(value):  # type: ignore[no-untyped-def]
        return [value]


@contextmanager
def _without_garbage_collection() -> Iterator[None]:
    """A step of 1,024 GPUs makes millions of objects, none in cycles, which the collector of garbage would walk over and over."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()
