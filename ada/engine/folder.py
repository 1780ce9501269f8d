"""What a Hugging Face model folder says about its model, as the engines need it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import torch
from transformers import AutoConfig, AutoModelForCausalLM, GenerationConfig

from ada.engine.errors import EngineError
from ada.engine.generation import Generation


@dataclass(frozen=True)
class ModelFolder:
    path: str
    vocabulary: int  # rows of the embedding: ids are below it
    context: int | None  # positions the model was built for; None where its config names no limit
    end_ids: tuple[int, ...]  # every id that ends a response
    shapes: Mapping[str, torch.Size]  # of each real parameter, by its Hugging Face name
    aliases: Mapping[str, tuple[str, ...]]  # other names of a parameter that is tied: embedding -> (lm_head.weight,)


def read_folder(path: str) -> ModelFolder:
    """Reads configs only; builds the model without memory (on torch's meta device) for the names and shapes of its parameters."""
    config = AutoConfig.from_pretrained(path)
    text = config.get_text_config()
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(config)
    first_name: dict[int, str] = {}
    aliases: dict[str, tuple[str, ...]] = {}
    for name, parameter in model.named_parameters(remove_duplicate=False):
        first = first_name.setdefault(id(parameter), name)
        if first != name:
            aliases[first] = (*aliases.get(first, ()), name)
    return ModelFolder(
        path=path,
        vocabulary=text.vocab_size,
        context=getattr(text, "max_position_embeddings", None),
        end_ids=_end_ids(path, text.eos_token_id),
        shapes={name: parameter.shape for name, parameter in model.named_parameters()},
        aliases=aliases,
    )


def _end_ids(path: str, of_config: int | list[int] | None) -> tuple[int, ...]:
    """All ends: those of generation_config.json and those of config.json. Chat models name one in the one and several in the other."""
    sources = [of_config]
    if (Path(path) / "generation_config.json").exists():
        sources.append(GenerationConfig.from_pretrained(path).eos_token_id)
    ids = {end for source in sources if source is not None for end in ([source] if isinstance(source, int) else source)}
    if not ids:
        raise EngineError(f"{path}: neither config.json nor generation_config.json has eos_token_id, so no response could end; add it")
    return tuple(sorted(ids))


def require_room(folder: ModelFolder, generation: Generation, evaluation: Generation | None) -> int:
    """Tokens that the longer of the two laws' prompts and responses take together, refused where the model has no positions for them."""
    for section, law in (("generation", generation), ("evaluation", evaluation)):
        if law is not None and folder.context is not None and law.most_tokens > folder.context:
            raise EngineError(
                f"generation.max_prompt_tokens={law.max_prompt_tokens} + {section}.max_response_tokens={law.max_response_tokens} = "
                f"{law.most_tokens} tokens, but {folder.path} has max_position_embeddings={folder.context}: lower one of the two"
            )
    return max(law.most_tokens for law in (generation, evaluation) if law is not None)
