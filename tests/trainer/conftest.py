from __future__ import annotations

from pathlib import Path

import pytest
import torch


@pytest.fixture(scope="session", autouse=True)
def process_group():
    from ada.trainer.distributed import start_distributed

    return start_distributed()


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random Qwen2 with a tied head. Its larger matrices exceed ZeRO-3's persistence threshold (100,000), so they really are sharded."""
    from transformers import Qwen2Config, Qwen2ForCausalLM

    folder = tmp_path_factory.mktemp("tiny")
    torch.manual_seed(1)
    config = Qwen2Config(
        vocab_size=1600,
        hidden_size=64,
        intermediate_size=1600,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        tie_word_embeddings=True,
        initializer_range=0.2,
        attention_dropout=0.1,
    )
    Qwen2ForCausalLM(config).save_pretrained(folder)
    (folder / "tokenizer_config.json").write_text("{}")
    return folder
