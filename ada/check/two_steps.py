"""Runs a shrunk recipe through the training loop itself and looks at what came of it."""

from __future__ import annotations

import contextlib
import io
import json
import math

import torch

from ada.check.result import Result
from ada.recipe.schema import Recipe
from ada.shutdown import StopRequest

MUST_BE_FINITE = (
    "reward/mean",
    "train/loss",
    "train/grad_norm",
    "train/entropy",
    "mismatch/logprob_abs_max",
    "mismatch/sync_logprob_abs_max",
)


def two_steps(recipe: Recipe) -> Result:
    """Trains `recipe` to its end. Whatever the parts raise goes through, as in a run."""
    from ada.loop import train
    from ada.open_run import open_run

    result = Result()
    with (
        contextlib.redirect_stdout(io.StringIO()),
        open_run(recipe, "check", StopRequest()) as run,
    ):  # its own lines speak of shrunk numbers
        before = {name: weight.clone() for name, weight in run.actor.named_weights()}
        train(run)
        moved = [(weight - before[name]).abs().max().item() for name, weight in run.actor.named_weights()]
        finite = all(bool(torch.isfinite(weight).all()) for _, weight in run.actor.named_weights())
        updates, in_engine = run.actor.updates, run.engine.weight_version
        assert run.directory is not None
        lines = (run.directory.path / "metrics.jsonl").read_text().splitlines()
    steps = [json.loads(line) for line in lines][1:]
    _weights(result, recipe, moved, finite, updates)
    _sync(result, steps, updates, in_engine)
    _metrics(result, steps)
    return result


def _weights(result: Result, recipe: Recipe, moved: list[float], finite: bool, updates: int) -> None:
    result.expect(
        finite and max(moved) > 0,
        f"weights moved: {updates} of {recipe.steps * recipe.batch.updates_per_step} updates taken, largest change {max(moved):.2g}, "
        f"{sum(m > 0 for m in moved)} of {len(moved)} tensors",
        "weights hold values that are not finite" if not finite else f"no weight moved in {updates} updates: is trainer.learning_rate 0?",
    )


def _sync(result: Result, steps: list[dict[str, float]], updates: int, in_engine: int) -> None:
    off = max(step["mismatch/sync_logprob_abs_max"] for step in steps)
    result.expect(
        in_engine == updates,
        f"sync verified: the engine holds weight version {in_engine}, log-probs within {off:.2g} nats of the actor's",
        f"the engine holds weight version {in_engine}, but the actor has taken {updates} updates",
    )


def _metrics(result: Result, steps: list[dict[str, float | None]]) -> None:
    bad = [f"step {step['step']}: {name} = {step.get(name)}" for step in steps for name in MUST_BE_FINITE if not _finite(step.get(name))]
    responses = sum(int(step.get("sampling/responses") or 0) for step in steps)
    last = {name: step_value if _finite(step_value := steps[-1].get(name)) else math.nan for name in MUST_BE_FINITE}
    result.expect(
        not bad,
        f"metrics finite: {responses} responses, mean reward {last['reward/mean']:.3g}, gradient norm {last['train/grad_norm']:.3g}",
        "metrics without a finite value: " + "; ".join(bad),
    )


def _finite(value: float | None) -> bool:
    return value is not None and math.isfinite(value)
