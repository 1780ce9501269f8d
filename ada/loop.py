"""The training loop: sample, group, credit, update, sync; once a step, on all ranks together."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence

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
    """Steps 1 to `recipe.steps`; step 0 is the evaluation before them. Raises Stopped where the run was asked to stop."""
    recipe = run.recipe
    run.progress.start(recipe.steps)
    run.sync()  # the engine holds nothing that anyone has vouched for
    with run.measuring(0) as metrics:
        metrics |= timed_evaluation(run, 0)
    for step in range(1, recipe.steps + 1):
        with run.measuring(step) as metrics:
            started, started_cpu = time.perf_counter(), time.process_time()
            prompts = run.selector.next(recipe.batch.prompts_per_step)
            pools, cost = run.collector.collect(
                f"step-{step}", prompts, recipe.sampling.schedule, window=recipe.sampling.in_flight, believe=run.believe, refill=run.refill
            )
            metrics |= sampling_metrics(pools, cost, recipe.batch.responses_per_group)
            metrics |= update(run, step, pools)
            metrics |= run.sync()
            metrics |= run.learn(pools)
            metrics["time/cpu"] = time.process_time() - started_cpu
            if step == recipe.steps or (recipe.evaluation.every and step % recipe.evaluation.every == 0):
                metrics |= timed_evaluation(run, step)
            run.count(step, pools, cost, metrics)
            metrics["time/step"] = time.perf_counter() - started
        run.keep(step, pools)


def update(run: Run, step: int, pools: list[Pool]) -> dict[str, float | None]:
    """The step's optimizer updates, each on a share of its prompts. Old log-probs are fixed before the first."""
    recipe, started = run.recipe, time.perf_counter()
    size, trainer = recipe.batch.responses_per_group, recipe.trainer
    run.engine.sleep()  # the sync after the update wakes it
    if trainer.overlong:
        pools = [trainer.overlong.shape(pool, recipe.generation.max_response_tokens) for pool in pools]
    groups = [group_of(pool, recipe.sampling.group, size, seed_of(recipe.seed, "group", step, pool.prompt.id)) for pool in pools]
    replayed = run.replay.draw(step) if run.replay is not None else []
    sequences = to_sequences([*groups, *replayed], recipe.advantage, recipe.objective, trainer.zero_variance, trainer.truncated)
    own, again = [s for s in sequences if not s.age], [s for s in sequences if s.age]
    parts = zip(*(shares(some, recipe.batch.updates_per_step) for some in (own, again)), strict=True)
    batches = [run.pack(share) for share in (fresh + stored for fresh, stored in parts) if share]
    old = [None, *(run.actor.old_logprobs(later) for later in batches[1:])]  # the first pass of the first update gives its own
    stats = [run.actor.update(now, before, recipe.loss) for now, before in zip(batches, old, strict=False)]
    entry = ledger(pools, groups, own, trained=sum(update.sequences for update in stats) - len(again))
    if run.replay is not None:
        run.replay.add(step, groups)
    for remark in remarks(recipe, step, pools, sequences) if run.ranks.first else ():
        log.warning("%s", remark)
    seconds = time.perf_counter() - started
    return (
        signal_metrics(recipe.batch.prompts_per_step, own)
        | replay_metrics(replayed, stats)
        | entry.metrics()
        | training_metrics(stats, seconds)
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
    evaluation = run.recipe.evaluation
    metrics = evaluate(run.collector, run.held_out, evaluation.samples, evaluation.law(run.recipe.generation), step)
    return {**metrics, "time/eval": time.perf_counter() - started}
