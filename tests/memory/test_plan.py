"""The memory plan against numbers worked out by hand, and against what a real pass keeps."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
import torch

from ada.data.microworld import BASE
from ada.memory.model import ModelSize, model_size
from ada.memory.plan import GIB, MemoryPlan, plan, refuse_what_does_not_fit
from ada.recipe.errors import RecipeError
from ada.recipe.validate import read_recipe
from ada.trainer.distributed import start_distributed
from ada.trainer.policy import load_policy

ROOT = Path(__file__).parents[2]
GPU = (80 * GIB, "a GPU", True)
SIZE = ModelSize(
    parameters=1_500_000_000,
    largest_layer=250_000_000,
    layers=28,
    vocabulary=150_000,
    hidden=1536,
    kv_numbers=14_336,
    saved_bytes=100_000,
    parameter_bytes=2,
)


@pytest.fixture(autouse=True)
def process_group():
    start_distributed()


def recipe(*overrides: str, name: str = "qwen15b_seq_balance"):
    return read_recipe(str(ROOT / "recipes" / f"{name}.yaml"), list(overrides))[1]


def test_shards_of_eight_ranks():
    parts = plan(recipe(), SIZE, 8, GPU).parts
    assert parts["weights"] == 1.5e9 * 2 / 8
    assert parts["gradients"] == 1.5e9 * 4 / 8
    assert parts["optimizer"] == 1.5e9 * 12 / 8  # two moments and the master weights, float32
    assert parts["gathered layers"] == 1e9 * 2
    assert parts["reference"] == 0
    assert parts["a layer's gradients"] == SIZE.largest_layer * 2
    assert parts["buckets"] == 5e8 * 2
    assert parts["engine"] == 1.5e9 * 2 and parts["engine"] + parts["KV cache"] == 0.5 * 80 * GIB
    assert parts["activations"] == 16384 * (100_000 + 28 * 1536 * 2 + 4096)  # one layer whole, the input of each, the mask
    assert parts["logits"] == 12 * 2**26


def test_logits_take_no_more_the_more_tokens_a_micro_batch_has():
    """So that its size may be told in tokens alone: of the logits, one piece stands at a time."""
    small, large = (plan(recipe(f"trainer.micro_batch_tokens={tokens}"), SIZE, 8, GPU).parts for tokens in (16_384, 65_536))
    assert small["logits"] == large["logits"] == 12 * 2**26
    assert large["activations"] == 4 * small["activations"]


@pytest.mark.parametrize(("stage", "weights", "gradients", "optimizer"), [(0, 1, 1, 1), (1, 1, 1, 8), (2, 1, 8, 8), (3, 8, 8, 8)])
def test_each_stage_shards_what_it_says(stage, weights, gradients, optimizer):
    found = plan(recipe(f"trainer.zero_stage={stage}", "model.dtype=float32"), dataclasses.replace(SIZE, parameter_bytes=4), 8, GPU).parts
    assert found["weights"] == 6e9 / weights
    assert found["gradients"] == 6e9 / gradients
    assert found["optimizer"] == (8 if stage == 0 else 12) * 1.5e9 / optimizer


def test_a_reference_is_held_beside_and_a_long_response_sets_the_micro_batch():
    base = plan(recipe(), SIZE, 1, GPU).parts
    held = plan(recipe("trainer.kl={name: k3, coefficient: 0.1}", "trainer.micro_batch_tokens=1024"), SIZE, 1, GPU).parts
    assert held["reference"] == held["weights"] == 3e9
    assert held["gathered layers"] == 0  # one rank has them all
    assert held["activations"] == base["activations"] * 3072 // 16384  # a prompt of 1,024 and a response of 2,048 tokens


def test_an_engine_that_sleeps_leaves_its_share_to_the_update():
    """Then the rollout may hold most: the engine, and the shards that wait for the update."""
    awake, asleep = plan(recipe(), SIZE, 8, GPU), plan(recipe("engine.sleep_level=1"), SIZE, 8, GPU)
    for found in (awake, asleep):
        assert found.parts["engine"] + found.parts["KV cache"] == 40 * GIB
    assert "activations" in awake.parts and "activations" not in asleep.parts
    wide = recipe("engine.sleep_level=1", "trainer.gradient_checkpointing=false")
    assert "engine" not in plan(wide, SIZE, 8, GPU).parts  # 43 GiB of activations against 40 GiB of engine


def test_ranks_that_hold_an_engine_together_have_a_share_of_its_weights_each():
    """Of the cache, on a CPU what each is given; on a GPU what vLLM's share has left, and room for a sequence of 1,024 + 2,048 tokens."""
    on_cpu = plan(recipe("engine.tensor_parallel=2", "engine.cpu_kv_cache_gib=2.0"), SIZE, 8, (80 * GIB, "a CPU", False)).parts
    assert on_cpu["engine"] == 1.5e9 * 2 / 2 and on_cpu["KV cache"] == 2 * GIB
    large = dataclasses.replace(SIZE, parameters=40_000_000_000)
    whole, shared = plan(recipe(), large, 64, GPU).parts, plan(recipe("engine.tensor_parallel=4"), large, 64, GPU).parts
    assert (whole["engine"], whole["KV cache"]) == (40e9 * 2, 3072 * 14_336 * 2)
    assert (shared["engine"], shared["engine"] + shared["KV cache"]) == (40e9 * 2 / 4, 40 * GIB)
    with pytest.raises(RecipeError, match="engine.tensor_parallel"):
        refuse_what_does_not_fit(recipe(), plan(recipe(), large, 64, GPU))


def test_what_does_not_fit_is_refused_with_the_keys_to_change():
    wide = recipe("trainer.gradient_checkpointing=false")
    found = plan(wide, SIZE, 8, GPU)
    with pytest.raises(RecipeError, match=r"trainer.micro_batch_tokens = 16384 .*gradient_checkpointing=true; .*gpu_memory_utilization"):
        refuse_what_does_not_fit(wide, found)
    refuse_what_does_not_fit(recipe(), plan(recipe(), SIZE, 8, GPU))
    with pytest.raises(RecipeError, match="more ranks"):
        alone = plan(recipe(), dataclasses.replace(SIZE, parameters=10**10), 1, GPU)
        refuse_what_does_not_fit(recipe(), alone)


def test_the_lines_name_every_part_that_weighs_something():
    lines = "\n".join(MemoryPlan({"weights": GIB, "reference": 0, "activations": 3 * GIB // 2}, 4 * GIB, "a GPU", True).lines())
    assert "2.5 of 4.0" in lines and "weights 1.0" in lines and "activations 1.5" in lines and "reference" not in lines


def test_the_micro_model_from_its_configuration():
    """521,856 parameters (ada/data/microworld); two KV heads of 32 over three layers; the largest layer by hand."""
    found = model_size(BASE, torch.float32)
    attention = 128 * 128 + 128 + 2 * (128 * 64 + 64) + 128 * 128  # q, k and v with bias, o
    assert (found.parameters, found.layers, found.vocabulary, found.parameter_bytes) == (521_856, 3, 32, 4)
    assert found.kv_numbers == 2 * 3 * 2 * 32
    assert found.largest_layer == attention + 3 * 128 * 320 + 2 * 128


def test_bytes_kept_for_the_backward_pass_are_those_of_a_real_pass():
    """Within a third: on a real device fused attention keeps less than what the shapes alone say."""
    size, slots = model_size(BASE, torch.float32), 64
    policy = load_policy(BASE, torch.float32)
    weights = {p.untyped_storage().data_ptr() for p in policy.parameters()}
    kept: dict[int, torch.UntypedStorage] = {}

    def note(tensor: torch.Tensor) -> torch.Tensor:
        if (storage := tensor.untyped_storage()).data_ptr() not in weights:
            kept[storage.data_ptr()] = storage
        return tensor

    tokens, positions = torch.zeros(1, slots, dtype=torch.int64), torch.arange(slots)[None]
    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        _states = policy.model.base_model(input_ids=tokens, position_ids=positions, use_cache=False)
        real = sum(storage.nbytes() for storage in kept.values()) / slots
    assert real <= 1.05 * size.layers * size.saved_bytes
    assert real >= 0.66 * size.layers * size.saved_bytes
