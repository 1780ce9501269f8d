"""Steps of a job as the model sees them: the schedules and the collector of training, on simulated engines."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from math import ceil

from ada.ranks import Ranks
from ada.sampling.collection import Cost
from ada.sampling.collector import Collector
from ada.sampling.grouping import group_of
from ada.sampling.schedules.dapo import refills
from ada.sampling.seeds import seed_of
from ada.sampling.streaming import Stream
from ada.simulation.crowd import Machine, SharedCounters, crowd
from ada.simulation.draws import DrawLaw, HashedDraws
from ada.simulation.engine import SimulatedEngine, decode
from ada.simulation.problems import Problems
from ada.simulation.rewards import SimulatedRewards
from ada.simulation.samplers import Sampler
from ada.simulation.setting import Setting
from ada.types import Pool, Prompt


@dataclass(frozen=True)
class StepForecast:
    """Of the whole job."""

    seconds: float
    rollout_seconds: float
    update_seconds: float
    idle: float  # share of the ranks' rollout in which their engines decode nothing
    responses: float  # drawn, those beyond a resolving prefix included
    generated_tokens: float
    aborted_tokens: float
    trained_tokens: float
    staleness: float  # updates between the weights that wrote a fresh trained token and those it is trained on, in the mean
    dropped: float = 0.0  # prompts, for being open too long


class Job:
    """GPUs with a clock each, and the collector of training over all of them."""

    def __init__(self, setting: Setting, law: DrawLaw, gpus: int, seed: int):
        self.setting, self.seed = setting, seed
        self.machines = [_machine(setting, law) for _ in range(gpus)]
        self.collector = Collector(
            None,  # type: ignore[arg-type]
            None,  # type: ignore[arg-type]
            decode,
            Ranks(),  # all of the job are one process here
            seed=seed,
            max_concurrent=setting.slots,
            collection=crowd(self.machines, SharedCounters(gpus)),  # type: ignore[arg-type]
        )

    def step(self, number: int, sampler: Sampler, collect: Callable[[], tuple[list[Pool], Cost]]) -> StepForecast:
        """`collect` draws with the collector; the update follows."""
        busy_before = self._busy()
        pools, cost = collect()
        busy = self._busy() - busy_before
        trained = self._trained(number, sampler, pools)
        fresh = sum(tokens for tokens, _ in trained)
        trained_on = fresh * (1 + sampler.replayed)  # the groups of a full store are as long as the step's own
        update = self.setting.update(trained_on, len(self.machines))
        for machine in self.machines:
            machine.engine.clock += update
            machine.engine.weight_version = number
        return StepForecast(
            seconds=cost.seconds + update,
            rollout_seconds=cost.seconds,
            update_seconds=update,
            idle=max(0.0, 1 - busy / (cost.seconds * len(self.machines))),  # not -0 by rounding
            responses=sum(pool.drawn for pool in pools) + cost.surplus,
            generated_tokens=cost.generated_tokens,
            aborted_tokens=cost.aborted_tokens,
            trained_tokens=trained_on,
            staleness=sum(tokens * age for tokens, age in trained) / max(1, fresh),
        )

    def _busy(self) -> float:
        return sum(machine.engine.busy for machine in self.machines)

    def _trained(self, number: int, sampler: Sampler, pools: Sequence[Pool]) -> list[tuple[int, int]]:
        """Tokens that are trained on, and the updates since the weights that wrote them."""
        groups = [group_of(p, sampler.group, sampler.group_size, seed_of(self.seed, "group", number, p.prompt.id)) for p in pools]
        spans = [span for group in groups for a in group.attempts for span in a.response.versions]
        return [(tokens, number - 1 - version) for version, tokens in spans]


def simulate(setting: Setting, sampler: Sampler, gpus: int, steps: int, seed: int = 0) -> StepForecast:
    """Means over `steps` steps. With streaming they come after others, in which the prompts that are open get their ages."""
    problems = Problems(setting.profile, setting.belief_draws, seed)
    job = Job(setting, HashedDraws(problems.pass_rates, setting.lengths), gpus, seed)
    count = setting.prompts * gpus
    stream = None
    if sampler.streaming is not None:
        stream = Stream(sampler.streaming, job.collector, count, sampler.schedule, sampler.window)
    before = 0 if sampler.streaming is None else ceil(2 * sampler.streaming.open) + 1  # a prompt lives for `open` steps in the mean
    made = []
    with without_garbage_collection():
        for n in range(1, before + steps + 1):
            step = job.step(n, sampler, partial(_collect, job, sampler, stream, problems, count, n))
            made.append(step if stream is None else replace(step, dropped=stream.turnover.dropped))
    made = made[before:]
    names = StepForecast.__dataclass_fields__
    return StepForecast(**{name: sum(getattr(step, name) for step in made) / len(made) for name in names})


def _collect(job: Job, sampler: Sampler, stream: Stream | None, problems: Problems, count: int, number: int) -> tuple[list[Pool], Cost]:
    def refill(pools: Sequence[Pool]) -> list[Prompt]:
        return problems.next(refills(sampler.schedule, pools, count))

    if stream is not None:
        return stream.collect(number, number - 1, lambda wanted, beside: problems.next(wanted), problems.believe)
    return job.collector.collect(
        f"step-{number}", problems.next(count), sampler.schedule, window=sampler.window, believe=problems.believe, refill=refill
    )


def _machine(setting: Setting, law: DrawLaw) -> Machine:
    engine = SimulatedEngine(law, setting.decode, setting.start, setting.lengths.longest)
    return Machine(engine, SimulatedRewards(engine, setting.verdict_seconds))


@contextmanager
def without_garbage_collection() -> Iterator[None]:
    """A step of 1,024 GPUs makes millions of objects, none in cycles, which the collector of garbage would walk over and over."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()
