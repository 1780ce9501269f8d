"""The real loop, twice in one process: evaluating every step, and never."""

from __future__ import annotations

import dataclasses
import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from ada.recipe.schema import Recipe
from ada.recipe.validate import read_recipe

pytestmark = pytest.mark.slow

SMALL = ["batch.prompts_per_step=8", "sampling.schedule.max_draws=8", "engine=transformers", "tracking.wandb=off", "steps=4"]


def trained(recipe: Recipe, asked: list[str] | None = None) -> tuple[list[dict], dict[str, torch.Tensor]]:
    """Metrics and weights. `asked`: is given what the engine was asked for, in order."""
    from ada.loop import train
    from ada.open_run import open_run
    from ada.shutdown import StopRequest

    with open_run(recipe, "run", StopRequest()) as run:
        for name in ("submit", "sleep", "load_weights") if asked is not None else ():
            setattr(run.engine, name, noting(asked, name, getattr(run.engine, name)))
        train(run)
        weights = {name: weight.clone() for name, weight in run.actor.named_weights()}
    return [json.loads(line) for line in (run.path / "metrics.jsonl").read_text().splitlines()], weights


def noting(asked: list[str], name: str, act: Callable[..., Any]) -> Callable[..., Any]:
    def noted(*arguments: Any) -> Any:
        asked.append(name)
        return act(*arguments)

    return noted


def test_evaluation_leaves_the_weights_as_they_are_and_comes_when_it_is_due_Z03_W02(tmp_path: Path) -> None:
    """At another temperature and with more tokens than training, every second step of four; then without any set to evaluate."""
    keys = ["evaluation.every=2", "evaluation.samples=2", "evaluation.temperature=0.5", "evaluation.max_response_tokens=24"]
    _, recipe = read_recipe("micro_seq_balance", [*SMALL, *keys, f"output={tmp_path}"])
    never = dataclasses.replace(recipe, evaluation=dataclasses.replace(recipe.evaluation, sets={}))
    asked: list[str] = []
    steps, weights = trained(recipe, asked)
    bare_steps, bare_weights = trained(never)
    assert [step["step"] for step in steps if "eval/heldout/avg@2" in step] == [0, 2, 4]
    assert not any(name.startswith("eval/") for step in bare_steps for name in step)
    assert all(torch.equal(weight, bare_weights[name]) for name, weight in weights.items())
    assert [name for name, _ in itertools.groupby(asked)] == ["load_weights", "submit", *["sleep", "load_weights", "submit"] * 4]
    for step, bare in zip(steps[1:], bare_steps[1:], strict=True):
        assert all(step[name] == bare[name] for name in ("reward/mean", "train/loss", "train/grad_norm", "total/generated_tokens"))
