"""The composition root: builds a run's parts in the order they need, hands them over, and closes them whatever happens."""

from __future__ import annotations

import dataclasses
import gc
import logging
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

from ada.checkpoint.keeper import Keeper
from ada.checkpoint.load import Checkpoint
from ada.checkpoint.prompts import digest_of
from ada.checkpoint.randomness import restore_random_state
from ada.checkpoint.resume import Start, where_to_start
from ada.contracts import Stateful
from ada.data.load import load_problems, missing_files, refuse_missing
from ada.data.prompts import decoder
from ada.engine.lockstep import require_whole_engines
from ada.model_folder import model_folder
from ada.observability.logs import start_logging, stop_logging
from ada.observability.progress import open_progress
from ada.observability.run_directory import RunDirectory
from ada.observability.tracking import Tracker
from ada.ranks import Ranks
from ada.recipe.arithmetic import arithmetic
from ada.recipe.errors import RecipeError
from ada.recipe.schema import Recipe
from ada.recipe.validate import dump
from ada.rewards.service import RewardService
from ada.run import Run
from ada.sampling.collector import Collector, Stopped
from ada.sampling.replay import ReplayStore
from ada.sampling.streaming import Stream
from ada.shutdown import StopRequest
from ada.trainer.not_finite import NotFinite
from ada.types import StepRecord
from ada.watch.board import Board
from ada.watch.memory import MemoryWatch
from ada.watch.pulse import Pulse
from ada.watch.watcher import Watcher

log = logging.getLogger(__name__)


@contextmanager
def open_run(recipe: Recipe, name: str, stop: StopRequest, beside: Path = Path()) -> Iterator[Run]:
    """All parts of a run, closed at the end in reverse order. `beside`: the recipe's folder, where a user's reward module may lie.

    The process group comes first, then what reads data, then the actor, then the engine: each needs what stands before it.
    """
    from transformers import AutoTokenizer

    from ada.trainer.distributed import start_distributed

    with ExitStack() as closing:
        start_distributed()
        from ada.memory.plan import planned, refuse_what_does_not_fit  # these import DeepSpeed, which must know the device by then
        from ada.trainer.actor import Actor
        from ada.trainer.prompt_states import PromptStates

        ranks = Ranks()
        require_whole_engines(recipe.engine, ranks.world)
        refuse_missing(missing_files(recipe))  # before the model is fetched, which may take long
        folder = str(model_folder(recipe.model.path, recipe.model.family))
        memory = planned(recipe, Path(folder), ranks.world)
        memory = dataclasses.replace(memory, available=min(ranks.gather(memory.available)))  # all ranks go on, or none
        refuse_what_does_not_fit(recipe, memory)
        tokenizer = AutoTokenizer.from_pretrained(folder)
        problems = load_problems(recipe, tokenizer)  # before anything is written: a bad row leaves no run behind
        directory: RunDirectory | None = None

        def open_directory() -> Start:
            nonlocal directory
            directory, start = _directory(recipe, name, closing)
            return start

        start = ranks.from_first(open_directory)
        path, checkpoint = start.path, start.checkpoint
        start_logging(path / "log.txt", ranks.rank)
        closing.callback(stop_logging)
        closing.push(partial(_log_failure, ranks.rank))
        pulse = Pulse()
        closing.push(_watched(Watcher(recipe.watch, pulse, Board.of_job(), path, ranks.rank), ranks))
        progress = open_progress(path.name, ranks.rank)
        closing.callback(progress.close)
        for line in [*start.notes, *arithmetic(recipe, ranks.world), *memory.lines(), *problems.notes]:
            progress.note(line)
        for line in start.notes if ranks.first else ():
            log.info("%s", line)
        log.info("\n".join(problems.notes) or "data       no repeated or overlong problem, none of an evaluation set")

        prompts, held_out = problems.train, problems.held_out
        selector = recipe.data.selection.start(prompts, recipe.seed)
        if recipe.batch.prompts_per_step > len(prompts):
            raise RecipeError(
                f"batch.prompts_per_step = {recipe.batch.prompts_per_step}, but data.train has {len(prompts)} prompts; "
                "allowed are 1 to that number."
            )
        if (streaming := recipe.sampling.streaming) and (most := streaming.prompts(recipe.batch.prompts_per_step)) > len(prompts):
            raise RecipeError(
                f"sampling.streaming.open = {streaming.open:g} needs {most} prompts in a step, but data.train has {len(prompts)}; lower it "
                f"or batch.prompts_per_step = {recipe.batch.prompts_per_step}."
            )

        digest = digest_of(prompts)
        if checkpoint:
            if checkpoint.state["prompts"] != digest:
                raise RecipeError(
                    f"data.train gives other prompts than when {checkpoint.folder} was written; give the run another run_name"
                )
            if directory:
                directory.rewind(checkpoint.step, measured=checkpoint.state["unfinished"] is None)

        rewards = RewardService(recipe.reward, import_from=[beside], log_path=path / "rewards.log")
        closing.callback(rewards.close)
        tracker = _tracker(recipe, directory, checkpoint) if directory else None
        if tracker:
            closing.push(lambda kind, error, trace: tracker.close(exit_code=int(kind is not None)))
        actor = Actor.start(folder, recipe.trainer, recipe.model.torch_dtype, recipe.generation.temperature)
        evaluation = recipe.evaluation.law(recipe.generation)
        engine = recipe.engine.start(folder, recipe.generation, recipe.model.dtype, recipe.seed, evaluation)
        closing.callback(engine.close)

        def should_stop() -> bool:
            """Asked at every step of the engine."""
            pulse.mark()
            return stop()

        collector = Collector(
            engine,
            rewards,
            decoder(tokenizer),
            ranks,
            seed=recipe.seed,
            max_concurrent=recipe.engine.max_concurrent,
            should_stop=should_stop,
        )
        actor.engine.module.register_forward_pre_hook(lambda *_: pulse.mark())  # every micro-batch
        # What is built lives to the end: garbage collection need not walk through it again and again, for a twentieth of a rollout's time.
        gc.collect()
        gc.freeze()
        closing.callback(gc.unfreeze)
        passrate = recipe.sampling.passrate.start(PromptStates(actor, ranks)) if recipe.sampling.passrate else None
        replay = ReplayStore(recipe.sampling.replay, recipe.seed) if recipe.sampling.replay else None
        stream = _stream(recipe, collector)
        remembering: dict[str, Stateful | None] = {"selection": selector, "passrate": passrate, "replay": replay, "streaming": stream}
        parts = {name: part for name, part in remembering.items() if part is not None}
        run = Run(
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
            prompts_digest=digest,
            passrate=passrate,
            replay=replay,
            stream=stream,
            held_out=held_out,
            probes=[p.token_ids for p in prompts if len(p.token_ids) > 1][: recipe.sync.held_prompts],
            totals={"total/generated_tokens": 0, "total/trained_tokens": 0, "total/responses": 0, "total/memory_retries": 0},
            keeper=Keeper(recipe.checkpoints, path / "checkpoints", actor, ranks, dump(recipe), parts, pulse),
            pulse=pulse,
            stop=stop,
            not_finite=NotFinite(recipe.trainer.not_finite_in_a_row, path),
            memory=MemoryWatch(recipe.watch.memory_growth, ranks),
        )
        if checkpoint:
            run.restore(checkpoint)
            if (randomness := checkpoint.randomness(ranks.rank)) is not None:
                restore_random_state(randomness)  # last: what comes before it may draw
        run.hold(run.done, run.unfinished)
        yield run


def _stream(recipe: Recipe, collector: Collector) -> Stream | None:
    sampling = recipe.sampling
    if sampling.streaming is None:
        return None
    return Stream(sampling.streaming, collector, recipe.batch.prompts_per_step, sampling.schedule, sampling.window)


def _log_failure(rank: int, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
    """The traceback goes to log.txt, whichever rank failed; what a person must know is said on the terminal by ada/cli/failures.py."""
    if isinstance(error, Exception):
        log.log(logging.ERROR if rank else logging.INFO, "the run failed", exc_info=error)


def _watched(watcher: Watcher, ranks: Ranks) -> Callable[[type[BaseException] | None, BaseException | None, object], None]:
    """Starts the watcher. What it gives ends it: with the other ranks where the run ended as it should, else by telling them why."""
    watcher.start()

    def end(kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if error is None or isinstance(error, Stopped):
            ranks.gather(None)  # a rank that is done gives no more signs: nobody may still look for them
            watcher.close()
        else:
            watcher.failed(error)

    return end


def _directory(recipe: Recipe, name: str, closing: ExitStack) -> tuple[RunDirectory, Start]:
    if recipe.run_name is None:
        directory = RunDirectory.fresh(recipe.output, name)
    else:
        directory = RunDirectory.open(recipe.output, recipe.run_name, must_exist=recipe.resume != "auto")
    closing.callback(directory.close)
    start = where_to_start(recipe, directory)
    directory.write_recipe(dump(recipe))
    return directory, start


def _tracker(recipe: Recipe, directory: RunDirectory, checkpoint: Checkpoint | None) -> Tracker:
    earlier = [StepRecord(row.pop("step"), row) for row in directory.rows()] if checkpoint else []
    id = checkpoint.state["wandb"] if checkpoint else None
    return Tracker(recipe.tracking, directory.path, directory.name, dataclasses.asdict(recipe), id=id, earlier=earlier)
