"""One optimizer update of the actor against plain torch on the same packed tokens: forward, backward, clipping, AdamW."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable

import torch
from transformers import AutoConfig, AutoModelForCausalLM

from ada.model_folder import model_folder
from ada.recipe.schema import Recipe
from ada.trainer.actor import Actor
from ada.trainer.batching import pack
from ada.types import Batch, Sequence
from benchmarks.interleaved import Comparison, interleaved


def actor_against_torch(recipe: Recipe, zero_stage: int, pairs: int) -> Comparison:
    """Tokens per second, prompts included, over as many sequences as an update of the recipe has, of its longest length."""
    folder = str(model_folder(recipe.model.path, recipe.model.family))
    trainer = dataclasses.replace(recipe.trainer, zero_stage=zero_stage)  # type: ignore[arg-type]
    actor = Actor.start(folder, trainer, recipe.model.torch_dtype, recipe.generation.temperature)
    batches = pack(_sequences(recipe, AutoConfig.from_pretrained(folder).vocab_size), 0, 1, trainer.micro_batch_tokens, trainer.row_tokens)
    tokens = sum(int((batch.sequence_RL >= 0).sum()) for batch in batches)

    def ours(pair: int) -> int:
        actor.update(batches, None, recipe.loss)
        return tokens

    plain = _plain(folder, recipe, batches)

    def torch_alone(pair: int) -> int:
        plain()
        return tokens

    return interleaved(ours, torch_alone, pairs)


def _plain(folder: str, recipe: Recipe, batches: list[Batch]) -> Callable[[], None]:
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=recipe.model.torch_dtype, attn_implementation="sdpa")
    optimizer = torch.optim.AdamW(model.parameters(), lr=recipe.trainer.learning_rate, weight_decay=recipe.trainer.weight_decay, fused=True)

    def update() -> None:
        for batch in batches:
            logits_RLV = model(input_ids=batch.tokens_RL, position_ids=batch.positions_RL, use_cache=False).logits[:, :-1].float()
            logprobs_RL = logits_RLV.log_softmax(-1).gather(-1, batch.tokens_RL[:, 1:, None])[..., 0]
            (-(logprobs_RL * batch.advantages_RL[:, 1:]).sum() / batch.update_tokens).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), recipe.trainer.max_grad_norm)
        optimizer.step()
        optimizer.zero_grad()

    return update


def _sequences(recipe: Recipe, vocabulary: int) -> list[Sequence]:
    rng = random.Random(0)
    size, law = recipe.batch.responses_per_group or 8, recipe.generation
    made = []
    for index in range(recipe.batch.prompts_per_step // recipe.batch.updates_per_step * size):
        prompt, response = (tuple(rng.randrange(vocabulary) for _ in range(n)) for n in (law.max_prompt_tokens, law.max_response_tokens))
        made.append(Sequence(prompt, response, (-1.0,) * len(response), rng.choice([-0.5, 0.5]), index // size))
    return made
