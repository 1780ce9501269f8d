"""All problems of a recipe: those to train on, each once, those held out, and what a person should know of them before the run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ada.data.contamination import overlaps
from ada.data.prompts import Loaded, read_prompts
from ada.data.sources.jsonl import Jsonl
from ada.data.sources.parquet import Parquet
from ada.recipe.errors import RecipeError
from ada.recipe.schema import Recipe
from ada.types import Prompt

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


@dataclass(frozen=True, slots=True)
class Problems:
    train: list[Prompt]
    held_out: dict[str, list[Prompt]]
    notes: list[str]  # rows dropped, evaluation problems that are trained on


def missing_files(recipe: Recipe) -> dict[str, str]:
    """Files of problems that the recipe names and that are not here: their paths by their keys."""
    sources = {"data.train": recipe.data.train, **{f"evaluation.sets.{label}": source for label, source in recipe.evaluation.sets.items()}}
    files = {f"{key}.path": source.path for key, source in sources.items() if isinstance(source, Jsonl | Parquet)}
    return {key: path for key, path in files.items() if not Path(path).expanduser().exists()}


def refuse_missing(files: Mapping[str, str]) -> None:
    """Raises RecipeError where there are any."""
    if files:
        raise RecipeError(
            "\n".join(f"{key} = {path!r}: no such file here; paths are relative to {Path.cwd()}" for key, path in files.items())
        )


def load_problems(recipe: Recipe, tokenizer: PreTrainedTokenizerBase) -> Problems:
    """Raises DataError, before anything was written."""
    form, most = recipe.data.prompt, recipe.generation.max_prompt_tokens
    train = read_prompts(recipe.data.train, recipe.data.train.name, form, tokenizer, most, distinct=True)
    held_out = {label: read_prompts(source, label, form, tokenizer, most) for label, source in recipe.evaluation.sets.items()}
    copies = overlaps(train.problems, {label: loaded.problems for label, loaded in held_out.items()})
    lines = [
        *_dropped(train, most, distinct=True),
        *(line for loaded in held_out.values() for line in _dropped(loaded, most, distinct=False)),
        *(f"evaluation set {label!r}: {overlap.found}" for label, overlap in copies.items() if overlap.found),
    ]
    return Problems(train.prompts, {label: loaded.prompts for label, loaded in held_out.items()}, [f"data       {line}" for line in lines])


def _dropped(loaded: Loaded, most: int, distinct: bool) -> list[str]:
    lines, repeated = [], loaded.duplicates
    if loaded.overlong:
        lines.append(f"{loaded.label}: dropped {loaded.overlong} of {loaded.read} rows, prompts of more than {most} tokens")
    if repeated.count:
        other = f", {repeated.conflicting} of them with another answer" if repeated.conflicting else ""
        what = f"dropped {repeated.count} of {loaded.read} rows, repeated problems" if distinct else f"{repeated.count} repeated problems"
        lines.append(f"{loaded.label}: {what}{other}")
    return lines
