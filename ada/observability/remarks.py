"""What a person should be told about a step, beside its figures. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ada.recipe.schema import Recipe
from ada.sampling.schedules.dapo import Dapo
from ada.types import Pool
from ada.types import Sequence as TokenSequence


def remarks(recipe: Recipe, step: int, pools: Sequence[Pool], sequences: Sequence[TokenSequence]) -> Iterator[str]:
    """`sequences`: those that the step's updates train on."""
    groups = len({sequence.group for sequence in sequences})
    if not sequences:
        right = sum(pool.right > 0 and pool.wrong == 0 for pool in pools)
        wrong = sum(pool.wrong > 0 and pool.right == 0 for pool in pools)
        yield f"step {step}: none of {len(pools)} prompts has a gradient ({right} all right, {wrong} all wrong): no update is taken"
    elif isinstance(recipe.sampling.schedule, Dapo) and groups < recipe.batch.prompts_per_step:
        most = recipe.sampling.schedule.max_gen_batches
        yield (
            f"step {step}: {groups} of {recipe.batch.prompts_per_step} groups have a gradient, and no more prompts may be opened "
            f"({len(pools)} were, max_gen_batches = {most}): trained on these"
        )
