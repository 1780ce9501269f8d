"""The micro-world's word-level tokenizer: 20 tokens, padded to 32, written as an ordinary Hugging Face tokenizer."""

from __future__ import annotations

from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

PAD, EOS = "<pad>", "<eos>"
TOKENS = (PAD, EOS, *"0123456789", "+", "-", "=", ":", "b", ",", "\\boxed{", "}")
VOCABULARY = 32  # rows of the embedding; the rest has names too, so that a response that contains one never reads like a clean one


def build() -> PreTrainedTokenizerFast:
    """Text that holds anything but the 18 words raises on encoding: there is no unknown token, nor a begin token."""
    words = (*TOKENS, *(f"<unused{index}>" for index in range(len(TOKENS), VOCABULARY)))
    tokenizer = Tokenizer(models.WordLevel({word: index for index, word in enumerate(words)}))
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(r"\\boxed\{|."), behavior="isolated")
    tokenizer.decoder = decoders.Fuse()
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token=PAD,
        eos_token=EOS,
        padding_side="left",
        clean_up_tokenization_spaces=False,
        model_max_length=64,
    )
