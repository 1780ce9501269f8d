"""Combinations of keys that make no sense, each refused with its reason before anything starts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ada.sampling.groups.all import All
from ada.sampling.groups.balanced import Balanced
from ada.sampling.schedules.dapo import Dapo
from ada.sampling.schedules.est import Est
from ada.sampling.schedules.uniform import Uniform

if TYPE_CHECKING:
    from ada.recipe.schema import Recipe


@dataclass(frozen=True)
class Complaint:
    key: str
    message: str


def check(recipe: Recipe) -> list[Complaint]:
    return [*_batch(recipe), *_prompt(recipe), *_groups(recipe), *_beliefs(recipe), *_sampling_law(recipe), *_evaluation(recipe)]


def _batch(recipe: Recipe) -> Iterator[Complaint]:
    batch = recipe.batch
    if batch.prompts_per_step % batch.updates_per_step:
        divisors = [d for d in range(1, batch.prompts_per_step + 1) if batch.prompts_per_step % d == 0]
        yield Complaint(
            "batch.updates_per_step",
            f"does not divide batch.prompts_per_step = {batch.prompts_per_step}, so the updates would differ in size; "
            f"allowed are {', '.join(map(str, divisors))}",
        )


def _prompt(recipe: Recipe) -> Iterator[Complaint]:
    if recipe.data.prompt.system is not None and recipe.data.prompt.style == "raw":
        yield Complaint("data.prompt.system", "a raw prompt has no system message; set null, or data.prompt.style=chat")


def _groups(recipe: Recipe) -> Iterator[Complaint]:
    size, group = recipe.batch.responses_per_group, recipe.sampling.group
    schedule = recipe.sampling.schedule.inner if isinstance(recipe.sampling.schedule, Dapo) else recipe.sampling.schedule
    if isinstance(group, All):
        if isinstance(schedule, Uniform) and size not in (schedule.draws, None):
            yield Complaint(
                "batch.responses_per_group",
                f"group `all` trains on all of schedule.draws = {schedule.draws} responses; set the two to one number",
            )
        elif not isinstance(schedule, Uniform) and size is not None:
            yield Complaint(
                "batch.responses_per_group",
                f"group `all` trains on all that schedule `{schedule.name}` draws, so there is no fixed size; set null",
            )
    elif group.name != "positives" and size is None:
        yield Complaint(
            "batch.responses_per_group", f"group `{group.name}` picks a fixed number of responses; set that number, or use group `all`"
        )
    if isinstance(group, Balanced) and size is not None and size % 2:
        yield Complaint(
            "batch.responses_per_group", f"group `balanced` is half right and half wrong; set an even number, for example {size + 1}"
        )
    if size is not None and isinstance(schedule, Uniform) and schedule.draws < size:
        yield Complaint("batch.responses_per_group", f"more than schedule.draws = {schedule.draws}; draw more or train on fewer")


def _beliefs(recipe: Recipe) -> Iterator[Complaint]:
    needed = isinstance(recipe.sampling.schedule, Est) or getattr(recipe.advantage, "baseline", None) == "belief"
    if needed and recipe.sampling.passrate is None:
        who = "schedule `est`" if isinstance(recipe.sampling.schedule, Est) else "baseline `belief`"
        yield Complaint("sampling.passrate", f"{who} needs a belief about pass rates; set sampling.passrate=ema")
    if not needed and recipe.sampling.passrate is not None:
        yield Complaint(
            "sampling.passrate", "nothing in this recipe reads the belief; set null, or use schedule `est` or baseline `belief`"
        )


def _sampling_law(recipe: Recipe) -> Iterator[Complaint]:
    if recipe.generation.top_p < 1 or recipe.generation.top_k:
        key = "generation.top_p" if recipe.generation.top_p < 1 else "generation.top_k"
        yield Complaint(
            key,
            "the actor scores responses under the whole softmax, so a truncated law would bias every ratio; "
            "set top_p=1 and top_k=0, and use temperature",
        )


def _evaluation(recipe: Recipe) -> Iterator[Complaint]:
    for name in recipe.evaluation.sets:
        if name == recipe.data.train.name:
            yield Complaint(
                "evaluation.sets", f"{name!r} is what the training prompts are called, and no two prompts may share an id; rename it"
            )
        if not name or "/" in name or "@" in name:
            yield Complaint("evaluation.sets", f"{name!r} becomes part of a metric's name; use letters, digits, - and _")
