"""One optimizer update of the actor against plain torch, and against bare DeepSpeed, on the same packed tokens."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable

import deepspeed
import torch
from transformers import AutoConfig, AutoModelForCausalLM

from ada.model_folder import model_folder
from ada.recipe.schema import Recipe
from ada.trainer.actor import Actor
from ada.trainer.batching import pack
from ada.trainer.config import TrainerConfig
from ada.trainer.deepspeed_config import deepspeed_config
from ada.types import Batch, Sequence
from benchmarks.interleaved import Comparison, interleaved

Rival = Callable[[str, Recipe, TrainerConfig, list[Batch]], Callable[[], None]]


def actor_against(rival: Rival, recipe: Recipe, zero_stage: int, pairs: int) -> Comparison:
    """Tokens per second, prompts included, over as many sequences as an update of the recipe has, of its longest length."""
    folder = str(model_folder(recipe.model.path, recipe.model.family))
    trainer = dataclasses.replace(recipe.trainer, zero_stage=zero_stage)  # type: ignore[arg-type]
    actor = Actor.start(folder, trainer, recipe.model.torch_dtype, recipe.generation.temperature)
    batches = pack(_sequences(recipe, AutoConfig.from_pretrained(folder).vocab_size), 0, 1, trainer.micro_batch_tokens, trainer.row_tokens)
    tokens = sum(int((batch.sequence_RL >= 0).sum()) for batch in batches)
    theirs = rival(folder, recipe, trainer, batches)

    def ours(pair: int) -> int:
        actor.update(batches, None, recipe.loss)
        return tokens

    def plain(pair: int) -> int:
        theirs()
        return tokens

    return interleaved(ours, plain, pairs)


def plain_torch(folder: str, recipe: Recipe, trainer: TrainerConfig, batches: list[Batch]) -> Callable[[], None]:
    """Forward, backward, clipping, AdamW."""
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=recipe.model.torch_dtype, attn_implementation="sdpa")
    optimizer = _adamw(model, trainer)

    def update() -> None:
        for batch in batches:
            _loss(model, batch).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), trainer.max_grad_norm)
        optimizer.step()
        optimizer.zero_grad()

    return update


def bare_deepspeed(folder: str, recipe: Recipe, trainer: TrainerConfig, batches: list[Batch]) -> Callable[[], None]:
    """The same loss through an engine of the actor's configuration, and nothing else."""
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=recipe.model.torch_dtype, attn_implementation="sdpa")
    config = deepspeed_config(trainer, recipe.model.torch_dtype)
    engine, *_ = deepspeed.initialize(model=model, optimizer=_adamw(model, trainer), config=config, dist_init_required=False)

    def update() -> None:
        for k, batch in enumerate(batches):
            engine.set_gradient_accumulation_boundary(k == len(batches) - 1)
            engine.backward(_loss(engine, batch))
        engine.step()

    return update


def _adamw(model: torch.nn.Module, trainer: TrainerConfig) -> torch.optim.AdamW:
    return torch.optim.AdamW(model.parameters(), lr=trainer.learning_rate, weight_decay=trainer.weight_decay, fused=True)


def _loss(model: torch.nn.Module, batch: Batch) -> torch.Tensor:
    logits_RLV = model(input_ids=batch.tokens_RL, position_ids=batch.positions_RL, use_cache=False).logits[:, :-1].float()
    logprobs_RL = logits_RLV.log_softmax(-1).gather(-1, batch.tokens_RL[:, 1:, None])[..., 0]
    return -(logprobs_RL * batch.advantages_RL[:, 1:]).sum() / batch.update_tokens


def _sequences(recipe: Recipe, vocabulary: int) -> list[Sequence]:
    rng = random.Random(0)
    size, law = recipe.batch.responses_per_group or 8, recipe.generation
    made = []
    for index in range(recipe.batch.prompts_per_step // recipe.batch.updates_per_step * size):
        prompt, response = (tuple(rng.randrange(vocabulary) for _ in range(n)) for n in (law.max_prompt_tokens, law.max_response_tokens))
        made.append(Sequence(prompt, response, (-1.0,) * len(response), rng.choice([-0.5, 0.5]), index // size))
    return made
