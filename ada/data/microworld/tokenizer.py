"""The micro-world's word-level tokenizer: 20 tokens, padded to 32, written as an ordinary Hugging Face tokenizer."""

from __future__ import annotations

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

PAD, EOS, BOX = "<pad>", "<eos>", "\\boxed{"
TOKENS = (PAD, EOS, *"0123456789", "+", "-", "=", ":", "b", ",", BOX, "}")
VOCABULARY = 32  # rows of the embedding; the rest has names too, so that a response that contains one never reads like a clean one


def build() -> PreTrainedTokenizerFast:
    """Takes only text made of the 18 words; there is no begin token.

    Transformers reads the tokenizer of every `qwen2` folder as byte-level BPE, whatever class and model the folder names. `\\boxed{` is
    therefore an added token, which both readings match first, and the unknown token is one that exists, or that reading would add a
    33rd. Of other characters the tokenizer built here says that they are missing; the BPE reading drops them.
    """
    words = (*TOKENS, *(f"<unused{index}>" for index in range(len(TOKENS), VOCABULARY)))
    tokenizer = Tokenizer(models.WordLevel({word: index for index, word in enumerate(words)}))
    tokenizer.add_tokens([AddedToken(BOX, normalized=False)])
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex("."), behavior="isolated")
    tokenizer.decoder = decoders.Fuse()
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token=PAD,
        eos_token=EOS,
        unk_token=PAD,
        padding_side="left",
        clean_up_tokenization_spaces=False,
        model_max_length=64,
    )
