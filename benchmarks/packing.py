"""An update on packed rows against the same sequences padded, one to a row, as they come: heavy-tailed lengths, one actor, one budget."""

from __future__ import annotations

import dataclasses
import random

from transformers import AutoConfig

from ada.model_folder import model_folder
from ada.recipe.schema import Recipe
from ada.trainer.actor import Actor
from ada.trainer.batching import pack, to_batch
from ada.types import Batch, Sequence
from benchmarks.interleaved import Comparison, interleaved

SEQUENCES, PROMPT, MEDIAN, LONGEST, ROW, BUDGET = 128, 13, 20, 320, 352, 4096


def packed_against_padded(recipe: Recipe, pairs: int) -> Comparison:
    """Tokens of sequences per second. Response lengths are lognormal: median 20, 320 at most."""
    folder = str(model_folder(recipe.model.path, recipe.model.family))
    trainer = dataclasses.replace(recipe.trainer, zero_stage=0, row_tokens=ROW, micro_batch_tokens=BUDGET)
    actor = Actor.start(folder, trainer, recipe.model.torch_dtype, recipe.generation.temperature)
    sequences = heavy_tailed(AutoConfig.from_pretrained(folder).vocab_size)
    ways = {"packed": pack(sequences, 0, 1, BUDGET, ROW), "padded": padded(sequences, BUDGET)}
    tokens = sum(map(len, sequences))

    def update(name: str) -> int:
        actor.update(ways[name], None, recipe.loss)
        return tokens

    return interleaved(lambda pair: update("packed"), lambda pair: update("padded"), pairs)


def padded(sequences: list[Sequence], budget: int) -> list[Batch]:
    """In the order they came in; each micro-batch as many as the budget has slots for at the length of its longest."""
    cut: list[list[int]] = []
    for index in range(len(sequences)):
        now = [*cut[-1], index] if cut else []
        if now and len(now) * max(len(sequences[i]) for i in now) <= budget:
            cut[-1] = now
        else:
            cut.append([index])
    tokens = sum(len(s.response_ids) for s in sequences)
    return [to_batch([[index] for index in part], sequences, tokens, len(sequences)) for part in cut]


def heavy_tailed(vocabulary: int) -> list[Sequence]:
    rng = random.Random(0)
    made = []
    for index in range(SEQUENCES):
        length = min(max(int(rng.lognormvariate(0, 1.0) * MEDIAN), 1), LONGEST)
        prompt, response = (tuple(rng.randrange(vocabulary) for _ in range(n)) for n in (PROMPT, length))
        made.append(Sequence(prompt, response, (-1.0,) * length, rng.choice([-0.5, 0.5]), index // 4))
    return made
