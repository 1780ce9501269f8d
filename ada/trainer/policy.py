"""The model as the trainer calls it: packed rows in, log-probs and entropies of the response tokens out.

The vocabulary-sized tensor never stands whole: the head works through the tokens in pieces and recomputes each in the backward pass.
Log-softmax is float32 whatever the weights are (bfloat16 log-softmax is off by up to 0.08 nats over 32,000 tokens).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint
from transformers import AutoConfig, AutoModelForCausalLM, PreTrainedModel
from transformers.integrations.deepspeed import HfDeepSpeedConfig, unset_hf_deepspeed_config
from transformers.utils.logging import disable_progress_bar

LOGITS_AT_ONCE = 2**26  # tokens * vocabulary of a piece: 256 MiB in float32


class Head(nn.Module):
    """The output head. It holds the weights itself, so that under ZeRO-3 they are gathered once for all pieces."""

    def __init__(self, linear: nn.Linear):
        super().__init__()
        self.weight, self.bias = linear.weight, linear.bias

    def forward(
        self, states_TH: torch.Tensor, targets_T: torch.Tensor, temperature: float, entropy_gradient: bool
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """float32 log-prob of each target, and entropy of the law it is from, at `temperature`."""
        step = max(1, LOGITS_AT_ONCE // self.weight.shape[0])
        if len(targets_T) <= step:
            return self._score(states_TH, targets_T, temperature, entropy_gradient)
        pieces = [
            checkpoint(self._score, states, targets, temperature, entropy_gradient, use_reentrant=False, preserve_rng_state=False)
            for states, targets in zip(states_TH.split(step), targets_T.split(step), strict=True)
        ]
        return torch.cat([p[0] for p in pieces]), torch.cat([p[1] for p in pieces])

    def _score(
        self, states_TH: torch.Tensor, targets_T: torch.Tensor, temperature: float, entropy_gradient: bool
    ) -> tuple[torch.Tensor, torch.Tensor]:
        logits_TV = F.linear(states_TH, self.weight, self.bias).float() / temperature
        law_TV = F.log_softmax(logits_TV, dim=-1)
        with torch.set_grad_enabled(entropy_gradient and torch.is_grad_enabled()):
            entropy_T = -(law_TV.exp() * law_TV).sum(-1)
        return law_TV.gather(-1, targets_T[:, None])[:, 0], entropy_T


class Policy(nn.Module):
    """A causal language model of Hugging Face. Its parameters are those of `model`, under the prefix `model.`."""

    def __init__(self, model: PreTrainedModel):
        super().__init__()
        self.model = model
        self.head = Head(model.get_output_embeddings())

    def forward(
        self, tokens_RL: torch.Tensor, positions_RL: torch.Tensor, mask_RL: torch.Tensor, temperature: float, entropy_gradient: bool
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """[R, L] float32 log-probs and entropies of the tokens under the mask, 0 elsewhere. The mask must not have a row's first slot."""
        # Sequences of a row are kept apart by their restarting positions, which transformers reads only without a cache and without a mask.
        states_RLH = self.model.base_model(input_ids=tokens_RL, position_ids=positions_RL, use_cache=False).last_hidden_state
        asked = mask_RL[:, 1:]
        logprobs, entropies = self.head(states_RLH[:, :-1][asked], tokens_RL[:, 1:][asked], temperature, entropy_gradient)
        zero = torch.zeros(tokens_RL.shape, dtype=torch.float32, device=tokens_RL.device)
        return zero.masked_scatter(mask_RL, logprobs), zero.masked_scatter(mask_RL, entropies)


def load_policy(folder: Path, dtype: torch.dtype, sharding: dict[str, Any] | None = None) -> Policy:
    """The model in `folder` with every dropout off: two passes over the same tokens must agree to the last bit.

    `sharding`: DeepSpeed's configuration where it is ZeRO-3's; every weight is then parted over the ranks as it is read. Collective.
    """
    disable_progress_bar()
    config = AutoConfig.from_pretrained(folder)
    for key, value in config.to_dict().items():
        if isinstance(value, float) and ("dropout" in key or "pdrop" in key):
            setattr(config, key, 0.0)
    for key in ("final_logit_softcapping", "logits_scaling", "logit_scale"):
        if getattr(config, key, None) not in (None, 1, 1.0):
            raise ValueError(f"{folder}/config.json: {key} is {getattr(config, key)}, but the trainer knows plain linear output heads only")
    with _parted(sharding):
        model = AutoModelForCausalLM.from_pretrained(folder, config=config, dtype=dtype, attn_implementation="sdpa")
    return Policy(model)


@contextmanager
def _parted(sharding: dict[str, Any] | None) -> Iterator[None]:
    """Inside, transformers makes models of DeepSpeed's shards: rank 0 alone reads a layer's weights, and each rank keeps its part."""
    if sharding is None:
        yield
        return
    import deepspeed  # must know the device by then

    # By default, all that a model's constructor computes in float32 is rounded to its weights' precision, rotary frequencies too.
    as_written = partial(deepspeed.zero.Init, tensor_overrides=[deepspeed.zero.DeepSpeedTensorOverride.device])
    known = HfDeepSpeedConfig(sharding)  # transformers finds it by a weak reference
    try:
        with mock.patch.object(deepspeed.zero, "Init", as_written):
            yield
    finally:
        unset_hf_deepspeed_config()  # the engine's models are its own
        del known
