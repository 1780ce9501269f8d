"""A model folder of the recipe's architecture with 2 layers and random weights, and a byte-level tokenizer with a chat template."""

from __future__ import annotations

from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import CONFIG_MAPPING, AutoConfig, AutoModelForCausalLM, GenerationConfig, PreTrainedTokenizerFast
from transformers.utils.logging import disable_progress_bar

from ada.recipe.errors import RecipeError

PAD, TURN, END = "<|endoftext|>", "<|im_start|>", "<|im_end|>"
CHAT = (
    "{% for message in messages %}" + TURN + "{{ message.role }}\n{{ message.content }}" + END + "\n{% endfor %}"
    "{% if add_generation_prompt %}" + TURN + "assistant\n{% endif %}"
)
ENDS = range(0xE0, 0x100)  # bytes that end a response: an eighth of the vocabulary, so that random responses take 8 tokens or so


def byte_tokenizer() -> PreTrainedTokenizerFast:
    """One token for each byte, and three special ones; the chat template is ChatML."""
    words = (*sorted(pre_tokenizers.ByteLevel.alphabet()), PAD, TURN, END)
    tokenizer = Tokenizer(models.BPE(vocab={word: index for index, word in enumerate(words)}, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token=PAD,
        eos_token=END,
        additional_special_tokens=[TURN],
        chat_template=CHAT,
        clean_up_tokenization_spaces=False,
    )


def make_tiny_model(folder: Path, family: str, tokenizer: PreTrainedTokenizerFast, context: int, seed: int) -> None:
    """Writes model and tokenizer of Hugging Face's model_type `family` into `folder`. Raises RecipeError for one that is not known."""
    if family not in CONFIG_MAPPING:
        raise RecipeError.unknown_name(f"model.family = {family!r}: transformers knows no such model_type", family, sorted(CONFIG_MAPPING))
    ends = [tokenizer.eos_token_id, *(tokenizer.convert_tokens_to_ids(chr(byte)) for byte in ENDS)]  # these bytes are written as themselves
    config = AutoConfig.for_model(
        family,
        vocab_size=len(tokenizer),
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        head_dim=32,  # vLLM's attention on CPU takes no smaller one
        max_position_embeddings=context,
        tie_word_embeddings=True,  # the harder case for the weight sync
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    disable_progress_bar()
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = AutoModelForCausalLM.from_config(config)
    model.generation_config = GenerationConfig(eos_token_id=ends, pad_token_id=tokenizer.pad_token_id, do_sample=True)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
