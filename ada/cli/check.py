"""`ada check RECIPE`: is the recipe sound, does its reward function work, and do two real steps of it, shrunk, do what they must?"""

from __future__ import annotations

import os
import time
from pathlib import Path

from ada.cli.failures import FAILED, told
from ada.recipe.arithmetic import arithmetic
from ada.recipe.errors import RecipeError
from ada.recipe.load import find_recipe
from ada.recipe.schema import Recipe
from ada.recipe.validate import read_recipe
from ada.scratch import Scratch

GOLDS = 1000  # problems whose gold answers the reward is tried on


def check(name: str, overrides: list[str]) -> int:
    """0: all held; 1: something did not; 2: the recipe is wrong."""
    os.environ |= {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"}  # a check waits for no network; what is cached is read
    return told(lambda: _check(name, overrides))


def _check(name: str, overrides: list[str]) -> int:
    began = time.monotonic()
    recipe_name, recipe = read_recipe(name, overrides)
    _refuse_named_files_that_are_not_here(recipe, overrides)
    print(f"\nChecking {recipe_name}\n")
    for line in arithmetic(recipe, int(os.environ.get("WORLD_SIZE", 1))):
        print(f"  {line}")
    print()
    unread: list[str] = []
    with Scratch("check") as scratch:
        faults = _parts(recipe, find_recipe(name).parent, Path(scratch), unread)
    verdict = (
        f"{recipe_name}: {f'{len(faults)} things are wrong' if len(faults) > 1 else 'failed'}" if faults else f"{recipe_name} is sound"
    )
    left = f"; not looked at, since they are not on this machine: {', '.join(unread)}" if unread and not faults else ""
    print(f"\n{verdict}{left} ({time.monotonic() - began:.0f} s)", flush=True)
    return FAILED if faults else 0


def _refuse_named_files_that_are_not_here(recipe: Recipe, overrides: list[str]) -> None:
    """A recipe's own data may be elsewhere, on the machine that trains; what the command names is to be looked at."""
    from ada.data.load import missing_files, refuse_missing

    named = [override.partition("=")[0] for override in overrides]
    refuse_missing({key: path for key, path in missing_files(recipe).items() if any(f"{key}.".startswith(f"{one}.") for one in named)})


def _parts(recipe: Recipe, beside: Path, scratch: Path, unread: list[str]) -> list[str]:
    """What is wrong, part by part. `unread` gets what could not be looked at."""
    from ada.check.audit import audit
    from ada.check.data import data_lines
    from ada.check.problems import first_rows, sums
    from ada.check.result import Result

    rows = first_rows(recipe.data.train, GOLDS)
    folder = _model(recipe)
    _say("model", f"not read: {recipe.model.path} is not on this machine" if folder is None else f"{folder} is a {recipe.model.family}")
    if folder is not None:
        _memory(recipe, folder)
    read, missing = data_lines(recipe)
    _say("data", "\n".join([*read, *missing]))
    unread += ["the model"] * (folder is None) + [line.partition(":")[0] for line in missing]
    try:
        audited = audit(recipe.reward, rows or sums(4), beside, scratch / "rewards.log")
    except ValueError as error:
        audited = Result(faults=[str(error)])
    if audited.faults:
        return _failed("reward", audited.faults)
    for place, line in enumerate(audited.seen):
        _say("" if place else "reward", line)
    if not rows:
        _say("", "These are sums of the check's own: the training data is not here.")

    from ada.check.shrink import shrunk
    from ada.check.two_steps import two_steps
    from ada.trainer.distributed import start_distributed

    start_distributed()  # first: building a model already makes transformers ask DeepSpeed for its device
    small = shrunk(recipe, rows, scratch)
    _say("two steps", f"of {small.batch.prompts_per_step} prompts, by a random {recipe.model.family} of 2 layers in {recipe.model.dtype}.")
    _say("", "Random weights answer nothing right: a coin tossed by the response's text stands in for the reward.")
    result = two_steps(small)
    for line in result.seen:
        _say("", line)
    return _failed("two steps", result.faults)


def _model(recipe: Recipe) -> Path | None:
    from ada.model_folder import model_folder

    try:
        return model_folder(recipe.model.path, recipe.model.family)
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise RecipeError(str(error)) from None


def _memory(recipe: Recipe, folder: Path) -> None:
    """What a rank would hold. Raises RecipeError where this machine's GPU has no room for it; a CPU may be here for the check alone."""
    from ada.memory.plan import planned, refuse_what_does_not_fit
    from ada.trainer.distributed import start_distributed

    start_distributed()  # first: building a model already makes transformers ask DeepSpeed for its device
    memory = planned(recipe, folder, int(os.environ.get("WORLD_SIZE", 1)))
    for line in memory.lines():
        _say(*line.split(maxsplit=1)) if line.startswith("memory") else _say("", line.strip())
    try:
        refuse_what_does_not_fit(recipe, memory)
    except RecipeError as error:
        if memory.gpu:
            raise
        _say("", f"This machine could not train it. {error}")


def _failed(part: str, faults: list[str]) -> list[str]:
    for fault in faults[:5]:
        _say(part, f"FAILED: {fault}")
    return faults


def _say(part: str, text: str) -> None:
    for index, line in enumerate(text.splitlines()):
        print(f"  {part if index == 0 else '':<10} {line}", flush=True)
