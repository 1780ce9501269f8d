"""The training loop: sample, group, credit, update, sync; once a step, on all ranks together."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from typing import Any

from ada.evaluation.evaluator import evaluate
from ada.observability.metrics import replay_metrics, sampling_metrics, signal_metrics, training_metrics
from ada.observability.remarks import remarks
from ada.run import Run
from ada.sampling.grouping import group_of
from ada.sampling.seeds import seed_of
from ada.trainer.credit import to_sequences
from ada.trainer.ledger import ledger
from ada.types import Pool
from ada.types import Sequence as TokenSequence

log = logging.getLogger(__name__)


def train(run: Run) -> None:
    """Steps 1 to `recipe.steps`, those done before left out; step 0 is the evaluation before them.

    Raises Stopped where the run was asked to stop; its last complete step is then in a checkpoint. Raises FloatingPointError where too many
    updates in a row were not finite, CheckpointError where the last checkpoint could not be written.
    """
    recipe = run.recipe
    run.progress.start(recipe.steps, first=run.done)
    run.sync()  # the engine holds nothing that anyone has vouched for
    with run.saved_when_stopped():
        if run.unfinished is not None:  # the evaluation before the first step, or one that a stop cut off
            with run.measuring(run.done) as metrics:
                metrics |= run.unfinished
                evaluate_if_due(run, run.done, metrics)
            run.checkpoint_if_due()
        for step in range(run.done + 1, recipe.steps + 1):
            with run.measuring(step) as metrics:
                train_step(run, step, metrics)
                evaluate_if_due(run, step, metrics)
            run.checkpoint_if_due()


def train_step(run: Run, step: int, metrics: dict[str, Any]) -> None:
    """What changes the run's state: what comes after it can be done again from that state."""
    recipe, started, started_cpu = run.recipe, time.perf_counter(), time.process_time()
    run.pulse.mark("drawing responses")
    pools, cost = run.collect(step)
    metrics |= sampling_metrics(pools, cost, recipe.batch.responses_per_group)
    metrics |= run.stream.metrics(step, pools) if run.stream is not None else {}
    run.pulse.mark("updating the policy")
    metrics |= update(run, step, pools)
    metrics |= run.sync()
    metrics |= run.learn(pools)
    metrics["time/cpu"] = time.process_time() - started_cpu
    run.count(step, pools, cost, metrics)
    metrics["time/step"] = time.perf_counter() - started
    run.record(step, pools)
    run.hold(step, metrics)


def evaluate_if_due(run: Run, step: int, metrics: dict[str, Any]) -> None:
    """The evaluation where one is due, which belongs to the time of its step."""
    recipe = run.recipe
    if step in (0, recipe.steps) or (recipe.evaluation.every and step % recipe.evaluation.every == 0):
        metrics |= timed_evaluation(run, step)
        if step:
            metrics["time/step"] += metrics["time/eval"]
            metrics["total/seconds"] += metrics["time/eval"]


def update(run: Run, step: int, pools: list[Pool]) -> dict[str, float | None]:
    """The step's optimizer updates, each on a share of its prompts. Old log-probs are fixed before the first."""
    recipe, started = run.recipe, time.perf_counter()
    size, trainer = recipe.batch.responses_per_group, recipe.trainer
    run.engine.sleep()  # the sync after the update wakes it
    if trainer.overlong:
        pools = [trainer.overlong.shape(pool, recipe.generation.max_response_tokens) for pool in pools]
    groups = [group_of(pool, recipe.sampling.group, size, seed_of(recipe.seed, "group", step, pool.prompt.id)) for pool in pools]
    replayed = run.replay.draw(step) if run.replay is not None else []
    version = run.actor.updates  # of the weights that the step drew with
    sequences = to_sequences([*groups, *replayed], recipe.advantage, recipe.objective, trainer.zero_variance, trainer.truncated, version)
    own, again = [s for s in sequences if s.group < len(groups)], [s for s in sequences if s.group >= len(groups)]
    parts = zip(*(shares(some, recipe.batch.updates_per_step) for some in (own, again)), strict=True)
    packed = [share for share in (fresh + stored for fresh, stored in parts) if share]
    batches = [run.pack(share) for share in packed]
    old = [None, *(run.actor.old_logprobs(later) for later in batches[1:])]  # the first pass of the first update gives its own
    stats = [run.actor.update(now, before, recipe.loss) for now, before in zip(batches, old, strict=False)]
    run.refuse_not_finite(step, stats, packed)
    entry = ledger(pools, groups, own, trained=sum(update.sequences for update in stats) - len(again))
    if run.replay is not None:
        run.replay.add(step, groups)
    for remark in remarks(recipe, step, pools, sequences) if run.ranks.first else ():
        log.warning("%s", remark)
    seconds = time.perf_counter() - started
    return (
        signal_metrics(recipe.batch.prompts_per_step, own)
        | replay_metrics(replayed)
        | entry.metrics()
        | training_metrics(stats, recipe.batch.updates_per_step, seconds)
    )


def shares(sequences: Sequence[TokenSequence], updates: int) -> list[list[TokenSequence]]:
    """The sequences of each update: as nearly as can be, each has equally many of the prompts that are trained on."""
    trained = {group: place for place, group in enumerate(sorted({s.group for s in sequences}))}
    found: list[list[TokenSequence]] = [[] for _ in range(updates)]
    for sequence in sequences:
        found[trained[sequence.group] * updates // len(trained)].append(sequence)
    return found


def timed_evaluation(run: Run, step: int) -> dict[str, float | None]:
    started = time.perf_counter()
    run.pulse.mark("evaluating")
    evaluation = run.recipe.evaluation
    metrics = evaluate(run.collector, run.held_out, evaluation.samples, evaluation.law(run.recipe.generation), step)
    return {**metrics, "time/eval": time.perf_counter() - started}
