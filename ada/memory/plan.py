"""What each rank's device will hold when it holds most, against what is there; printed before training, and refused where it cannot fit.

The parts are those that grow with the recipe. Not in it: the CUDA context (about 0.5 GiB), workspaces, and fragmentation; hence MARGIN.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import torch

from ada.memory.model import ModelSize, model_size
from ada.recipe.errors import RecipeError
from ada.recipe.schema import Recipe
from ada.trainer.policy import LOGITS_AT_ONCE

GIB = 2**30
MARGIN = 0.95  # of the memory there is, that may be planned with
KEPT_GATHERED = 10**9  # parameters that DeepSpeed leaves gathered, since they are needed again soon (stage3_max_reuse_distance)
REDUCED_AT_ONCE = 5 * 10**8  # gradients that DeepSpeed collects before it reduces them (reduce_bucket_size)


@dataclass(frozen=True)
class MemoryPlan:
    parts: dict[str, int]  # bytes on one rank's device, by name
    available: int  # bytes there are for one rank
    device: str  # what it is, for people
    gpu: bool

    @property
    def total(self) -> int:
        return sum(self.parts.values())

    def lines(self) -> list[str]:
        listed = ", ".join(f"{name} {_gib(size)}" for name, size in self.parts.items() if size)
        return [f"memory     GiB on each rank: {_gib(self.total)} of {_gib(self.available)}, {self.device}", f"           {listed}"]


def plan(recipe: Recipe, size: ModelSize, world: int, device: tuple[int, str, bool]) -> MemoryPlan:
    trainer, n, wide = recipe.trainer, size.parameters, size.parameter_bytes
    stage = trainer.zero_stage
    over = {at: world if stage >= at else 1 for at in (1, 2, 3)}  # ranks that share what stage `at` shards
    longest = recipe.generation.most_tokens
    slots = max(trainer.micro_batch_tokens, longest)
    row = max(trainer.row_tokens, longest)
    masters = 4 * n if stage or wide < 4 else 0  # ZeRO keeps a float32 copy beside float32 weights, too
    kept = size.saved_bytes * (1 if trainer.gradient_checkpointing else size.layers)
    kept += size.layers * size.hidden * wide if trainer.gradient_checkpointing else 0
    piece = min(LOGITS_AT_ONCE, slots * size.vocabulary)
    drawn = max(longest, recipe.evaluation.law(recipe.generation).most_tokens)
    engine = recipe.engine.memory(size, drawn, device[0], device[2])
    asleep = device[2] and getattr(recipe.engine, "sleep_level", 0) > 0
    parts = {
        "weights": n * wide // over[3],
        "gradients": n * 4 // over[2],
        "optimizer": (8 * n + masters) // over[1],
        "gathered layers": (min(n, max(KEPT_GATHERED, size.largest_layer)) * wide) if stage == 3 and world > 1 else 0,
        "a layer's gradients": size.largest_layer * wide,  # before DeepSpeed adds them up in float32
        "buckets": REDUCED_AT_ONCE * wide if stage and device[2] else 0,  # on a CPU, what is not written takes no memory
        "reference": n * wide // over[3] if trainer.kl else 0,
        "activations": slots * kept + slots * row,  # the mask that keeps packed sequences apart: a byte for each two slots of a row
        "logits": 3 * 4 * piece,  # of one piece: logits, log-softmax, gradient
    }
    update = MemoryPlan(parts | ({} if asleep else engine), *device)
    rollout = MemoryPlan({name: parts[name] for name in ("weights", "gradients", "optimizer", "buckets", "reference")} | engine, *device)
    return max(update, rollout, key=lambda found: found.total)


def refuse_what_does_not_fit(recipe: Recipe, found: MemoryPlan) -> None:
    """Raises RecipeError with the keys that would help most, the largest part first."""
    if found.total <= MARGIN * found.available:
        return
    vllm = recipe.engine.name == "vllm"
    help_with = {
        "activations": f"trainer.micro_batch_tokens = {recipe.trainer.micro_batch_tokens} (fewer), or trainer.gradient_checkpointing=true",
        "optimizer": "more ranks (NPROC), with trainer.zero_stage=3",
        "gradients": "more ranks (NPROC), with trainer.zero_stage=3",
        "weights": "a smaller model.path, or more ranks (NPROC) with trainer.zero_stage=3",
        "reference": "trainer.kl=null",
        "engine": "more ranks (NPROC) with a larger engine.tensor_parallel" if vllm else "fewer engine.max_concurrent",
        "KV cache": f"a smaller engine.{'gpu_memory_utilization' if found.gpu else 'cpu_kv_cache_gib'}"
        if vllm
        else "fewer engine.max_concurrent",
    }
    largest = sorted((name for name in found.parts if name in help_with), key=lambda name: -found.parts[name])[:3]
    advice = "; ".join(dict.fromkeys(help_with[name] for name in largest if found.parts[name]))
    raise RecipeError(
        f"memory: a step needs about {_gib(found.total)} GiB on each rank, and {MARGIN:.0%} of the {_gib(found.available)} GiB of "
        f"{found.device} may be planned with ({', '.join(f'{name} {_gib(part)}' for name, part in found.parts.items() if part)}). "
        f"Change: {advice}."
    )


def what_is_there() -> tuple[int, str, bool]:
    """Bytes for one rank, what they are of, and whether that is a GPU. On a CPU the ranks of a host share its memory."""
    if torch.cuda.is_available():
        index = int(os.environ.get("LOCAL_RANK", 0))
        return torch.cuda.mem_get_info(index)[1], torch.cuda.get_device_name(index), True
    import psutil

    beside = int(os.environ.get("LOCAL_WORLD_SIZE", 1))
    share = "this machine's free memory" if beside == 1 else f"a {beside}th of this machine's free memory"
    return psutil.virtual_memory().available // beside, share, False


def _gib(size: int) -> str:
    return f"{size / GIB:.1f}" if size >= GIB / 10 else f"{size / GIB:.3f}"


def planned(recipe: Recipe, folder: Path, world: int) -> MemoryPlan:
    """The plan for this machine's device; nothing is refused yet."""
    return plan(recipe, model_size(folder, recipe.model.torch_dtype), world, what_is_there())
