"""The composition root: builds a run's parts in the order they need, hands them to the loop, and closes them whatever happens."""

from __future__ import annotations

import dataclasses
import gc
import logging
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ada.contracts import Engine, PassRateEstimator, Selector
from ada.data.load import load_problems
from ada.engine.sync import sync
from ada.model_folder import model_folder
from ada.observability.closing import Summary, closing_lines
from ada.observability.logs import start_logging, stop_logging
from ada.observability.progress import Progress, open_progress
from ada.observability.run_directory import RunDirectory
from ada.observability.tracking import Tracker
from ada.ranks import Ranks
from ada.recipe.arithmetic import arithmetic
from ada.recipe.errors import RecipeError
from ada.recipe.schema import Recipe
from ada.recipe.validate import dump
from ada.report.render import report_of_a_run
from ada.rewards.service import RewardService
from ada.sampling.collector import Collector, Cost
from ada.sampling.replay import ReplayStore
from ada.sampling.schedules.dapo import Dapo
from ada.shutdown import StopRequest
from ada.trainer.batching import pack
from ada.types import Batch, PassRate, Pool, Prompt, StepRecord
from ada.types import Sequence as TokenSequence

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
    passrate: PassRateEstimator | None
    replay: ReplayStore | None
    held_out: dict[str, list[Prompt]]
    probes: list[tuple[int, ...]]  # token sequences whose log-probs are compared after every sync
    totals: dict[str, float]
    done: int = 0  # steps
    believing: float = 0.0  # seconds, in the step so far
    evaluations: dict[int, dict[str, float | None]] = dataclasses.field(default_factory=dict)
    began: float = dataclasses.field(default_factory=time.monotonic)

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

    def refill(self, pools: Sequence[Pool]) -> Sequence[Prompt]:
        schedule = self.recipe.sampling.schedule
        wanted = schedule.wanted(pools, self.recipe.batch.prompts_per_step) if isinstance(schedule, Dapo) else 0
        wanted = min(wanted, self.prompts - len(pools))  # where the step has opened every prompt there is, it goes on with those
        return self.selector.next(wanted, beside={pool.prompt.id for pool in pools}) if wanted else ()

    def pack(self, sequences: Sequence[TokenSequence]) -> list[Batch]:
        trainer = self.recipe.trainer
        return pack(sequences, self.ranks.rank, self.ranks.world, trainer.micro_batch_tokens, trainer.row_tokens)

    def sync(self) -> dict[str, float | None]:
        """Puts the actor's weights into the engine and proves that they arrived. Raises SyncError."""
        tolerance = self.recipe.sync.tolerance or (1e-4 if self.recipe.model.dtype == "float32" else 1.0)
        weights, version = self.actor.named_weights(), self.actor.updates
        report = sync(weights, self.engine, version, self.actor.token_logprobs, self.probes, tolerance)
        return {"time/sync": report.seconds, "mismatch/sync_logprob_abs_max": report.logprob_abs_max}

    @contextmanager
    def measuring(self, step: int) -> Iterator[dict[str, Any]]:
        """The metrics of a step: written and shown when the block ends, written also where it ends by an exception."""
        metrics: dict[str, Any] = {}
        if self.directory is None:
            yield metrics
            return
        with self.directory.measuring(step) as metrics:
            yield metrics
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
        metrics |= {**self.totals, "total/seconds": time.monotonic() - self.began}

    def keep(self, step: int, pools: Sequence[Pool]) -> None:
        """Samples and pools of the step, and its checkpoint where one is due. Collective."""
        if self.directory:
            some = pools[:: max(1, len(pools) // SAMPLES_PER_STEP)][:SAMPLES_PER_STEP]
            rows = self.directory.write_samples(step, [(pool.prompt, attempt) for pool in some for attempt in pool.attempts[:1]])
            if self.tracker:
                self.tracker.samples(step, rows)
            self.directory.write_pools(step, pools)
        every = self.recipe.checkpoints.every
        if step == self.recipe.steps or (every and step % every == 0):
            self.actor.save_hf(self.path / "checkpoints" / f"step-{step:06d}" / "huggingface")

    def summary(self, stopped_by: str | None) -> Summary:
        assert self.directory is not None
        steps = sorted(self.evaluations)
        return Summary(
            run=str(self.directory.path),
            steps=self.done,
            seconds=time.monotonic() - self.began,
            responses=int(self.totals["total/responses"]),
            generated_tokens=int(self.totals["total/generated_tokens"]),
            before=self.evaluations[steps[0]] if steps else {},
            after=self.evaluations[steps[-1]] if len(steps) > 1 else {},
            stopped_by=stopped_by,
        )


@contextmanager
def open_run(recipe: Recipe, name: str, stop: StopRequest, beside: Path = Path()) -> Iterator[Run]:
    """All parts of a run, closed at the end in reverse order. `beside`: the recipe's folder, where a user's reward module may lie.

    The process group comes first, then what reads data, then the actor, then the engine: each needs what stands before it.
    """
    from transformers import AutoTokenizer

    from ada.memory.plan import planned, refuse_what_does_not_fit
    from ada.trainer.distributed import start_distributed

    with ExitStack() as closing:
        start_distributed()
        from ada.trainer.actor import Actor  # imports DeepSpeed, which must know the device by then
        from ada.trainer.prompt_states import PromptStates

        ranks = Ranks()
        folder = str(model_folder(recipe.model.path, recipe.model.family))
        memory = planned(recipe, Path(folder), ranks.world)
        memory = dataclasses.replace(memory, available=min(ranks.gather(memory.available)))  # all ranks go on, or none
        refuse_what_does_not_fit(recipe, memory)
        tokenizer = AutoTokenizer.from_pretrained(folder)
        problems = load_problems(recipe, tokenizer)  # before anything is written: a bad row leaves no run behind
        directory = _directory(recipe, name, ranks, closing)
        path = ranks.gather(directory.path if directory else None)[0]
        assert path is not None
        start_logging(path / "log.txt", ranks.rank)
        closing.callback(stop_logging)
        closing.push(partial(_log_failure, ranks.rank))
        progress = open_progress(path.name, ranks.rank)
        closing.callback(progress.close)
        for line in [*arithmetic(recipe, ranks.world), *memory.lines(), *problems.notes]:
            progress.note(line)
        log.info("\n".join(problems.notes) or "data       no repeated or overlong problem, none of an evaluation set")

        prompts, held_out = problems.train, problems.held_out
        selector = recipe.data.selection.start(prompts, recipe.seed)
        if recipe.batch.prompts_per_step > len(prompts):
            raise RecipeError(
                f"batch.prompts_per_step = {recipe.batch.prompts_per_step}, but data.train has {len(prompts)} prompts; "
                "allowed are 1 to that number."
            )

        rewards = RewardService(recipe.reward, import_from=[beside], log_path=path / "rewards.log")
        closing.callback(rewards.close)
        tracker = Tracker(recipe.tracking, path, path.name, dataclasses.asdict(recipe)) if directory else None
        if tracker:
            closing.push(lambda kind, error, trace: tracker.close(exit_code=int(kind is not None)))
        actor = Actor.start(folder, recipe.trainer, recipe.model.torch_dtype, recipe.generation.temperature)
        evaluation = recipe.evaluation.law(recipe.generation)
        engine = recipe.engine.start(folder, recipe.generation, recipe.model.dtype, recipe.seed, evaluation)
        closing.callback(engine.close)
        collector = Collector(
            engine,
            rewards,
            lambda ids: str(tokenizer.decode(list(ids), skip_special_tokens=True)),
            ranks,
            seed=recipe.seed,
            max_concurrent=recipe.engine.max_concurrent,
            should_stop=stop,
        )
        # What is built lives to the end: garbage collection need not walk through it again and again, for a twentieth of a rollout's time.
        gc.collect()
        gc.freeze()
        closing.callback(gc.unfreeze)
        yield Run(
            recipe=recipe,
            ranks=ranks,
            path=path,
            directory=directory,
            progress=progress,
            tracker=tracker,
            actor=actor,
            engine=engine,
            collector=collector,
            selector=selector,
            prompts=len(prompts),
            passrate=recipe.sampling.passrate.start(PromptStates(actor, ranks)) if recipe.sampling.passrate else None,
            replay=ReplayStore(recipe.sampling.replay, recipe.seed) if recipe.sampling.replay else None,
            held_out=held_out,
            probes=[p.token_ids for p in prompts if len(p.token_ids) > 1][: recipe.sync.held_prompts],
            totals={"total/generated_tokens": 0, "total/trained_tokens": 0, "total/responses": 0},
        )


def _log_failure(rank: int, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
    """The traceback goes to log.txt, whichever rank failed; what a person must know is said on the terminal by ada/cli/failures.py."""
    if isinstance(error, Exception):
        log.log(logging.ERROR if rank else logging.INFO, "the run failed", exc_info=error)


def _directory(recipe: Recipe, name: str, ranks: Ranks, closing: ExitStack) -> RunDirectory | None:
    if not ranks.first:
        return None
    if recipe.run_name is not None:
        directory = RunDirectory.open(recipe.output, recipe.run_name, resume=False)
    else:
        directory = RunDirectory.fresh(recipe.output, name)
    closing.callback(directory.close)
    directory.write_recipe(dump(recipe))
    return directory


def closing_report(run: Run, stopped_by: str | None) -> list[str]:
    """Writes summary.json and report.html; the lines a person reads at the end."""
    if run.directory is None:
        return []
    summary = run.summary(stopped_by)
    run.directory.write_summary(summary)
    return closing_lines(summary) + report_of_a_run(run.path)
