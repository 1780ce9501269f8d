"""What a model weighs, from its configuration alone: built on torch's meta device, which computes shapes and holds no numbers."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from pathlib import Path

import torch
from transformers import AutoConfig, AutoModelForCausalLM, PretrainedConfig, PreTrainedModel

from ada.trainer.full_state import layer_of

PROBE = 97  # tokens of the probing pass: no other dimension of a model has this size


@dataclass(frozen=True)
class ModelSize:
    parameters: int
    largest_layer: int  # parameters of the largest decoder layer, or of the embedding where that is larger
    layers: int
    vocabulary: int
    hidden: int
    kv_numbers: int  # keys and values of one token, over all layers
    saved_bytes: int  # kept for the backward pass, per token and decoder layer
    parameter_bytes: int  # of one parameter in the passes


def model_size(folder: Path, dtype: torch.dtype) -> ModelSize:
    config = AutoConfig.from_pretrained(folder)
    text = config.get_text_config()
    model = _on_meta(config, dtype)
    named = [(name, p.numel()) for name, p in model.named_parameters()]
    groups = [sum(n for _, n in group) for _, group in itertools.groupby(named, key=lambda item: layer_of(item[0]))]
    head_dim = getattr(text, "head_dim", None) or text.hidden_size // text.num_attention_heads
    return ModelSize(
        parameters=sum(n for _, n in named),
        largest_layer=max(groups),
        layers=text.num_hidden_layers,
        vocabulary=text.vocab_size,
        hidden=text.hidden_size,
        kv_numbers=2 * text.num_hidden_layers * text.num_key_value_heads * head_dim,
        saved_bytes=_saved_bytes(config, dtype),
        parameter_bytes=torch.finfo(dtype).bits // 8,
    )


def _on_meta(config: PretrainedConfig, dtype: torch.dtype) -> PreTrainedModel:
    with torch.device("meta"):
        return AutoModelForCausalLM.from_config(config, dtype=dtype, attn_implementation="sdpa")


def _saved_bytes(config: PretrainedConfig, dtype: torch.dtype) -> int:
    """Bytes that one more decoder layer keeps per token: a pass with two layers, less one with a single layer."""
    found = []
    for layers in (1, 2):
        shallow = type(config).from_dict(config.to_dict() | {"num_hidden_layers": layers, "layer_types": None})
        found.append(_kept(_on_meta(shallow, dtype)))
    return (found[1] - found[0]) // PROBE


def _kept(model: PreTrainedModel) -> int:
    """Bytes that a forward pass of PROBE tokens keeps, less the weights and the matrices of attention, which fused kernels do not keep."""
    weights = {p.untyped_storage()._cdata for p in model.parameters()}
    kept: dict[int, torch.UntypedStorage] = {}

    def note(tensor: torch.Tensor) -> torch.Tensor:
        storage = tensor.untyped_storage()
        if storage._cdata not in weights and tensor.shape[-2:] != (PROBE, PROBE):
            kept[storage._cdata] = storage  # held, so that no other storage comes to have its address
        return tensor

    tokens = torch.zeros(1, PROBE, dtype=torch.int64, device="meta")
    mask = torch.ones(1, 1, PROBE, PROBE, dtype=torch.bool, device="meta")
    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        _out = model.base_model(input_ids=tokens, position_ids=tokens, attention_mask=mask, use_cache=False)
        return sum(storage.nbytes() for storage in kept.values())
