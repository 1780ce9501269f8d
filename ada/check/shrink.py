"""A recipe made small enough for a CPU: everything that decides, computes or records stays, only sizes and the reward change."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ada.check.problems import sums
from ada.check.tiny_model import byte_tokenizer, make_tiny_model
from ada.data.prompts import load_prompts
from ada.data.sources import Row
from ada.data.sources.jsonl import Jsonl
from ada.observability.tracking import Tracking
from ada.recipe.schema import Recipe
from ada.rewards.config import Reward
from ada.sampling.schedules.dapo import Dapo

STEPS, PROBLEM_CHARACTERS, RESPONSE_TOKENS = 2, 60, 32
SMALL_ENGINE: dict[str, Any] = {"max_concurrent": 64, "cpu_kv_cache_gib": 0.25, "tensor_parallel": 1}


def shrunk(recipe: Recipe, rows: Sequence[Row], folder: Path) -> Recipe:
    """Writes model and problems into `folder`. Kept: seed, schedule, group, belief, credit, loss, trainer, dtype, engine, prompt format."""
    prompts_per_step = 2 * recipe.batch.updates_per_step
    opened = recipe.sampling.schedule.max_gen_batches if isinstance(recipe.sampling.schedule, Dapo) else 2
    streaming = recipe.sampling.streaming
    needed = max(prompts_per_step * opened, streaming.prompts(prompts_per_step) if streaming else 0)
    train = _jsonl(folder / "train.jsonl", rows, needed)
    held_out = _jsonl(folder / "heldout.jsonl", rows[:2], 2)
    tokenizer = byte_tokenizer()
    prompts = load_prompts(train, "train", recipe.data.prompt, tokenizer, max_tokens=10**6)
    longest = max(len(prompt.token_ids) for prompt in prompts)  # held-out problems are among them
    make_tiny_model(folder / "model", recipe.model.family, tokenizer, longest + RESPONSE_TOKENS + 1, recipe.seed)
    known = {f.name for f in dataclasses.fields(recipe.engine)}  # type: ignore[arg-type]
    return dataclasses.replace(
        recipe,
        steps=STEPS,
        batch=dataclasses.replace(recipe.batch, prompts_per_step=prompts_per_step),
        model=dataclasses.replace(recipe.model, path=str(folder / "model")),
        data=dataclasses.replace(recipe.data, train=train),
        reward=Reward(function="ada.check.coin:score", workers=1),
        generation=dataclasses.replace(recipe.generation, max_prompt_tokens=longest, max_response_tokens=RESPONSE_TOKENS),
        engine=dataclasses.replace(recipe.engine, **{key: value for key, value in SMALL_ENGINE.items() if key in known}),  # type: ignore[type-var]
        evaluation=dataclasses.replace(
            recipe.evaluation, sets=dict.fromkeys(recipe.evaluation.sets, held_out), samples=min(recipe.evaluation.samples, 4)
        ),
        tracking=Tracking(wandb="off"),
        output=str(folder / "runs"),
        run_name=None,
    )


def _jsonl(path: Path, rows: Sequence[Row], count: int) -> Jsonl:
    """`count` problems, cut short, in a file: the given ones first, then additions that are not among them."""
    given = {row.problem for row in rows}
    taken = [*rows, *(row for row in sums(count) if row.problem not in given)][:count]
    lines = [{"id": str(i), "problem": row.problem[:PROBLEM_CHARACTERS], "answer": row.answer} for i, row in enumerate(taken)]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return Jsonl(path=str(path), id="id")
