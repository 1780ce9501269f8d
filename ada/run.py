"""A run: its parts, and what the loop asks of them from step to step. They are put together in open_run.py."""

from __future__ import annotations

import dataclasses
import logging
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ada.checkpoint.errors import CheckpointError
from ada.checkpoint.keeper import Keeper
from ada.checkpoint.load import Checkpoint
from ada.contracts import Engine, PassRateEstimator, Selector
from ada.engine.sync import sync
from ada.observability import strict_json
from ada.observability.closing import Summary, closing_lines
from ada.observability.progress import Progress
from ada.observability.run_directory import RunDirectory
from ada.observability.tracking import Tracker
from ada.ranks import Ranks
from ada.recipe.schema import Recipe
from ada.report.render import report_of_a_run
from ada.sampling.collection import Cost
from ada.sampling.collector import Collector, Stopped
from ada.sampling.replay import ReplayStore
from ada.sampling.schedules.dapo import refills
from ada.sampling.streaming import Stream
from ada.shutdown import StopRequest
from ada.trainer.batching import pack
from ada.trainer.not_finite import NotFinite
from ada.trainer.statistics import UpdateStats
from ada.types import Batch, PassRate, Pool, Prompt, StepRecord
from ada.types import Sequence as TokenSequence
from ada.watch.memory import MemoryWatch
from ada.watch.pulse import Pulse

if TYPE_CHECKING:
    from ada.trainer.actor import Actor

log = logging.getLogger(__name__)

SAMPLES_PER_STEP = 8  # responses that a step leaves in samples.jsonl


@dataclasses.dataclass
class Run:
    recipe: Recipe
    ranks: Ranks
    path: Path  # the run's folder
    directory: RunDirectory | None  # its files, which rank 0 alone writes
    progress: Progress
    tracker: Tracker | None
    actor: Actor
    engine: Engine
    collector: Collector
    selector: Selector
    prompts: int  # to train on
    prompts_digest: str
    passrate: PassRateEstimator | None
    replay: ReplayStore | None
    stream: Stream | None
    held_out: dict[str, list[Prompt]]
    probes: list[tuple[int, ...]]  # token sequences whose log-probs are compared after every sync
    totals: dict[str, float]
    keeper: Keeper
    pulse: Pulse
    stop: StopRequest
    not_finite: NotFinite
    memory: MemoryWatch
    done: int = 0  # steps
    believing: float = 0.0  # seconds, in the step so far
    unfinished: dict[str, Any] | None = dataclasses.field(default_factory=dict)  # metrics of step `done` where its evaluation is to come
    evaluations: dict[int, dict[str, float | None]] = dataclasses.field(default_factory=dict)
    began: float = dataclasses.field(default_factory=time.monotonic)

    @property
    def seconds(self) -> float:
        """Since the start, those before a resume included."""
        return time.monotonic() - self.began

    def believe(self, prompts: Sequence[Prompt]) -> Sequence[PassRate | None]:
        if self.passrate is None:
            return [None] * len(prompts)
        started = time.perf_counter()
        beliefs = self.passrate.believe(prompts)
        self.believing += time.perf_counter() - started
        return beliefs

    def learn(self, pools: Sequence[Pool]) -> dict[str, float]:
        """What the step taught about its prompts; the seconds that beliefs took in it."""
        started = time.perf_counter()
        if self.passrate:
            self.passrate.learn(pools)
        spent, self.believing = self.believing + time.perf_counter() - started, 0.0
        self.selector.learn(pools)
        return {"time/passrate": spent} if self.passrate else {}

    def collect(self, step: int) -> tuple[list[Pool], Cost]:
        """The step's pools, in the order of their prompts. Collective."""
        sampling, count = self.recipe.sampling, self.recipe.batch.prompts_per_step
        if self.stream is not None:
            return self.stream.collect(step, self.actor.updates, self.selector.next, self.believe)
        prompts = self.selector.next(count)
        return self.collector.collect(
            f"step-{step}", prompts, sampling.schedule, window=sampling.window, believe=self.believe, refill=self.refill
        )

    def refill(self, pools: Sequence[Pool]) -> Sequence[Prompt]:
        wanted = refills(self.recipe.sampling.schedule, pools, self.recipe.batch.prompts_per_step)
        wanted = min(wanted, self.prompts - len(pools))  # where the step has opened every prompt there is, it goes on with those
        return self.selector.next(wanted, beside={pool.prompt.id for pool in pools}) if wanted else ()

    def pack(self, sequences: Sequence[TokenSequence]) -> list[Batch]:
        trainer = self.recipe.trainer
        return pack(sequences, self.ranks.rank, self.ranks.world, trainer.micro_batch_tokens, trainer.row_tokens, self.actor.work)

    def sync(self) -> dict[str, float | None]:
        """Puts the actor's weights into the engine and proves that they arrived. Raises SyncError."""
        self.pulse.mark("handing the weights to the engine")
        tolerance = self.recipe.sync.tolerance or (1e-4 if self.recipe.model.dtype == "float32" else 1.0)
        weights, version = self.actor.named_weights(), self.actor.updates
        report = sync(weights, self.engine, version, self.actor.token_logprobs, self.probes, tolerance, self.ranks)
        return {"time/sync": report.seconds, "mismatch/sync_logprob_abs_max": report.logprob_abs_max}

    @contextmanager
    def measuring(self, step: int) -> Iterator[dict[str, Any]]:
        """The metrics of a step: written and shown when the block ends, written also where it ends by an exception."""
        metrics: dict[str, Any] = {}
        if self.directory is None:
            yield metrics
            return
        with self.directory.measuring(step) as metrics:
            try:
                yield metrics
            finally:
                self.count_retries(metrics)
        record = StepRecord(step, dict(metrics))
        if evaluated := {name: value for name, value in metrics.items() if "@" in name}:
            self.evaluations[step] = evaluated
        if step:
            self.progress.step(record)
        if self.tracker:
            self.tracker.log(record)

    def count(self, step: int, pools: Sequence[Pool], cost: Cost, metrics: dict[str, Any]) -> None:
        self.done = step
        self.totals["total/generated_tokens"] += cost.generated_tokens
        self.totals["total/trained_tokens"] += metrics["train/tokens"]
        self.totals["total/responses"] += sum(pool.drawn for pool in pools) + cost.surplus
        metrics["train/memory_retries"] = 0
        self.count_retries(metrics)
        metrics |= {**self.totals, "total/seconds": self.seconds, "memory/host_gib": self.memory.look(step)}
        metrics |= {"time/checkpoint": self.keeper.spent(), "checkpoint/failures": self.keeper.failures}

    def count_retries(self, metrics: dict[str, Any]) -> None:
        """Those for want of memory since this was last called: of the update, and of the passes of the sync that follows it."""
        if retries := self.actor.budget.halvings():
            metrics["train/memory_retries"] = metrics.get("train/memory_retries", 0) + retries
            self.totals["total/memory_retries"] += retries

    def record(self, step: int, pools: Sequence[Pool]) -> None:
        """Samples and pools of the step."""
        if self.directory:
            some = pools[:: max(1, len(pools) // SAMPLES_PER_STEP)][:SAMPLES_PER_STEP]
            rows = self.directory.write_samples(step, [(pool.prompt, attempt) for pool in some for attempt in pool.attempts[:1]])
            if self.tracker:
                self.tracker.samples(step, rows)
            self.directory.write_pools(step, pools)

    def refuse_not_finite(self, step: int, updates: Sequence[UpdateStats], shares: Sequence[Sequence[TokenSequence]]) -> None:
        """Writes aside what an update could not learn from. Raises FloatingPointError where that happens too often in a row."""
        for number, (stats, share) in enumerate(zip(updates, shares, strict=True), start=1):
            if (aside := self.not_finite.judge(step, number, stats, share)) and self.directory:
                self.directory.write_aside(*aside)
            self.not_finite.check()

    def hold(self, step: int, unfinished: Mapping[str, Any] | None) -> None:
        """Keeps the state after `step` at hand. `unfinished`: the step's metrics so far, where its evaluation is still to come."""
        self.done, self.unfinished = step, None if unfinished is None else strict_json.plain(unfinished)
        self.keeper.hold(step, self.facts())
        self.stop.grace_seconds = self.recipe.checkpoints.grace_seconds

    def facts(self) -> dict[str, Any]:
        """What a checkpoint holds beside the actor and the parts that learn."""
        return {
            "unfinished": self.unfinished,
            "totals": dict(self.totals),
            "seconds": self.seconds,
            "evaluations": dict(self.evaluations),
            "not_finite": self.not_finite.in_a_row,
            "wandb": self.tracker.id if self.tracker else None,
            "prompts": self.prompts_digest,
        }

    def checkpoint_if_due(self) -> None:
        """After a step is whole: its checkpoint where one is due. Collective. Raises CheckpointError where that was the last step's."""
        self.unfinished = None
        self.keeper.renew(self.facts())
        every = self.recipe.checkpoints.every
        if self.done == self.recipe.steps or (self.done and every and self.done % every == 0):
            try:
                self.keeper.save(self.scores())
            except CheckpointError as error:
                if self.done == self.recipe.steps:
                    raise
                log.warning("%s; the run goes on, and earlier checkpoints are as they were", error)

    @contextmanager
    def saved_when_stopped(self) -> Iterator[None]:
        """Where the block ends by Stopped, which all ranks raise together, the last complete step goes into a checkpoint."""
        try:
            yield
        except Stopped:
            try:
                self.keeper.save(self.scores())
                self.stop.saved = True
            except CheckpointError as error:
                log.error("%s; earlier checkpoints are as they were", error)
            raise

    def scores(self) -> dict[int, float]:
        """Held-out accuracy by step: avg@k, mean over the sets."""
        found = {
            step: [v for name, v in metrics.items() if "/avg@" in name and v is not None] for step, metrics in self.evaluations.items()
        }
        return {step: sum(values) / len(values) for step, values in found.items() if values}

    def restore(self, checkpoint: Checkpoint) -> None:
        """The run as it was at a checkpoint; `hold` then holds the same. Collective."""
        state = checkpoint.state
        checkpoint.restore_actor(self.actor)
        self.keeper.restore(state)
        self.totals |= state["totals"]
        self.began = time.monotonic() - state["seconds"]
        self.evaluations = dict(state["evaluations"])
        self.not_finite.in_a_row = state["not_finite"]
        self.done, self.unfinished = state["step"], state["unfinished"]

    def summary(self, stopped_by: str | None) -> Summary:
        assert self.directory is not None
        steps = sorted(self.evaluations)
        return Summary(
            run=str(self.directory.path),
            steps=self.done,
            seconds=self.seconds,
            responses=int(self.totals["total/responses"]),
            generated_tokens=int(self.totals["total/generated_tokens"]),
            memory_retries=int(self.totals["total/memory_retries"]),
            before=self.evaluations[steps[0]] if steps else {},
            after=self.evaluations[steps[-1]] if len(steps) > 1 else {},
            stopped_by=stopped_by,
        )


def closing_report(run: Run, stopped_by: str | None) -> list[str]:
    """Writes summary.json and report.html; the lines a person reads at the end."""
    if run.directory is None:
        return []
    summary = run.summary(stopped_by)
    run.directory.write_summary(summary)
    return closing_lines(summary) + report_of_a_run(run.path)
