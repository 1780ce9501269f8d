"""Tiny random models, and engines over them: one of each kind for all tests of a module."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
import torch.distributed as dist
from transformers import Qwen2Config, Qwen2ForCausalLM

from ada.engine.generation import Generation

VOCABULARY, CONTEXT, ENDS = 32, 256, (1, 2)
GENERATION = Generation(max_prompt_tokens=160, max_response_tokens=20)
EVALUATION = Generation(max_prompt_tokens=160, max_response_tokens=30, temperature=0.8, top_p=0.9)


def random_qwen2(tied: bool, seed: int) -> Qwen2ForCausalLM:
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        config = Qwen2Config(
            vocab_size=VOCABULARY,
            hidden_size=64,
            intermediate_size=96,
            num_hidden_layers=2,
            num_attention_heads=2,
            num_key_value_heads=1,
            max_position_embeddings=CONTEXT,
            tie_word_embeddings=tied,
            eos_token_id=ENDS[0],
            pad_token_id=0,
            bos_token_id=None,
            initializer_range=0.2,
        )
        return Qwen2ForCausalLM(config).eval()


def save(model: Qwen2ForCausalLM, folder: str) -> str:
    """With defaults for sampling that must not reach the engine, and a second end id that must."""
    model.generation_config.update(eos_token_id=ENDS[1], do_sample=True, top_k=1, temperature=0.1)
    model.save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def tied_folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    return save(random_qwen2(tied=True, seed=1), str(tmp_path_factory.mktemp("tied")))


@pytest.fixture(scope="session")
def untied_folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    return save(random_qwen2(tied=False, seed=2), str(tmp_path_factory.mktemp("untied")))


@pytest.fixture(scope="module")
def process_group() -> Iterator[None]:
    if dist.is_initialized():
        yield
    else:
        dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        yield
        dist.destroy_process_group()
