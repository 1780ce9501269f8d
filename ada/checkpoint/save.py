"""Writes a checkpoint: all ranks together, aside, and under its name only when all of it is on the disk."""

from __future__ import annotations

import io
import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from safetensors.torch import save_file

from ada.checkpoint.errors import CheckpointError
from ada.checkpoint.folder import hide, name_of, partial_of
from ada.checkpoint.writer import Writer, flush, write_sums
from ada.ranks import Ranks

if TYPE_CHECKING:
    from ada.trainer.actor import Actor

ACTOR, STATE, RECIPE, HUGGINGFACE = "actor", "state.pt", "recipe.yaml", "huggingface"


def save(
    checkpoints: Path,
    step: int,
    actor: Actor,
    ranks: Ranks,
    state: Mapping[str, Any],
    randomness: Mapping[str, Any],
    recipe: str,
    progress: Callable[[], None],
) -> None:
    """`state`: of the run, as rank 0 has it; `randomness`: of this rank's generators; both plain data and tensors. `recipe`: as YAML.
    `progress`: called between two files.

    Collective. Raises CheckpointError on all ranks where a rank could not write its share.

        actor/00000.safetensors, ...   master weights and moments of a layer, written by one rank
        huggingface/                   the weights for transformers and vLLM
        state.pt, random-00000.pt      what is not in the actor; the generators of each rank
        recipe.yaml, SHA256SUMS
    """
    folder = partial_of(checkpoints, step)
    if ranks.first:
        shutil.rmtree(folder, ignore_errors=True)
    ranks.gather(None)  # nobody writes before the remains of an earlier attempt are gone
    writer = Writer(folder)
    for number, layer in actor.state(lambda number: number % ranks.world == ranks.rank):
        progress()
        writer.write(f"{ACTOR}/{number:05d}.safetensors", lambda path, layer=layer: save_file(layer, path))  # type: ignore[misc]
    _write_huggingface(writer, actor, ranks)
    writer.write(f"random-{ranks.rank:05d}.pt", lambda path: _write_plain(path, randomness))
    if ranks.first:
        writer.write(STATE, lambda path: _write_plain(path, {**state, "updates": actor.updates, "world": ranks.world}))
        writer.write(RECIPE, lambda path: path.write_text(recipe))
    shares = ranks.gather((writer.failure, writer.sums))
    failure = next((failure for failure, _ in shares if failure), None)
    if ranks.first and failure is None:
        failure = _complete(checkpoints, step, {name: digest for _, sums in shares for name, digest in sums.items()})
    failure = ranks.gather(failure)[0]
    if failure is not None:
        if ranks.first:
            shutil.rmtree(folder, ignore_errors=True)
        raise CheckpointError(f"the checkpoint of step {step} could not be written ({failure})")


def _write_huggingface(writer: Writer, actor: Actor, ranks: Ranks) -> None:
    if ranks.first:
        writer.write(HUGGINGFACE, lambda path: path.mkdir())
    failed = writer.failure is not None
    if any(ranks.gather(failed)):  # its weights are gathered by all ranks, or by none
        return
    if ranks.first:
        writer.write(HUGGINGFACE, actor.save_hf)
    else:
        actor.save_hf(writer.folder / HUGGINGFACE)


def _complete(checkpoints: Path, step: int, sums: dict[str, str]) -> str | None:
    """Gives the finished folder its name; what went wrong."""
    folder = partial_of(checkpoints, step)
    missing = [name for name in sums if not (folder / name).is_file()]
    if missing:
        return (
            f"{folder}: {missing[0]} was written by another machine and is not to be seen here; `output` must be a folder that they share"
        )
    try:
        write_sums(folder, sums)
        before = hide(checkpoints, step) if (checkpoints / name_of(step)).exists() else None
        os.rename(folder, checkpoints / name_of(step))  # a kill just before leaves a whole folder, see settle_leftovers
        flush(checkpoints)
        if before is not None:
            shutil.rmtree(before, ignore_errors=True)
    except OSError as error:
        return str(error)
    return None


def _write_plain(path: Path, content: Mapping[str, Any]) -> None:
    """By way of memory: torch tells a full disk in a way that nothing else does."""
    buffer = io.BytesIO()
    torch.save(dict(content), buffer)
    path.write_bytes(buffer.getbuffer())
