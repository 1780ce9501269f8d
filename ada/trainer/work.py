"""What a row of tokens costs a rank to work through, by which rows are dealt to ranks. In units of one token's way through the layers.

Multiplications of a forward pass, the backward pass being twice as many of each kind: a weight of the decoder layers takes part in one for
each token; a weight of the output head in one for each token whose log-prob is asked for; and attention multiplies, in each layer, queries
with keys and probabilities with values, for every pair of slots in the row, since the mask between its sequences spares none.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from transformers import PretrainedConfig


@dataclass(frozen=True, slots=True)
class Work:
    head: float = 0.0  # of one log-prob
    attention: float = 0.0  # of one pair of slots

    @classmethod
    def of_model(cls, config: PretrainedConfig, in_layers: int) -> Work:
        """`in_layers`: parameters of all decoder layers together."""
        text = config.get_text_config()
        width = text.num_attention_heads * (getattr(text, "head_dim", None) or text.hidden_size // text.num_attention_heads)
        return cls(text.hidden_size * text.vocab_size / in_layers, 2 * width * text.num_hidden_layers / in_layers)

    def of_row(self, slots: int, logprobs: int) -> float:
        return slots + self.head * logprobs + self.attention * slots**2
