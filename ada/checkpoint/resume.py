"""What becomes of a run whose name is taken: it goes on from its newest whole checkpoint, begins anew where it has none, or is refused."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from ada.checkpoint.folder import name_of, newest_whole, settle_leftovers
from ada.checkpoint.load import Checkpoint
from ada.checkpoint.recipes import BOUND, differences, is_among
from ada.observability.run_directory import RunDirectory
from ada.recipe.errors import RecipeError
from ada.recipe.schema import Recipe
from ada.recipe.validate import read_recipe


@dataclass(frozen=True, slots=True)
class Start:
    path: Path
    step: int | None = None  # of the checkpoint that the run goes on from
    notes: list[str] = field(default_factory=list)  # for whoever looks on

    @property
    def checkpoint(self) -> Checkpoint | None:
        return None if self.step is None else Checkpoint(self.path / "checkpoints", self.step)


def where_to_start(recipe: Recipe, directory: RunDirectory) -> Start:
    """Rank 0's decision for a run of that name. Raises RecipeError where the recipe is not that of the run, and says in what."""
    settle_leftovers(directory.checkpoints)
    step, notes = newest_whole(directory.checkpoints)
    if step is None:
        if recipe.resume != "auto":
            raise RecipeError(f"resume = {recipe.resume}: {directory.path} has no checkpoint to go on from; resume=auto begins there anew")
        if (earlier := directory.begin_anew()) is not None:
            notes.append(f"{directory.path} has no checkpoint to go on from: it begins anew, and what was there is in {earlier.name}")
        return Start(directory.path, None, notes)
    folder = directory.checkpoints / name_of(step)
    _, before = read_recipe(str(folder / "recipe.yaml"))
    changed = differences(recipe, before)
    refused = changed if recipe.resume != "changed" else [line for line in changed if is_among(line.partition(" = ")[0], BOUND)]
    if refused:
        way_out = (
            "resume=changed goes on with the new values" if recipe.resume != "changed" else f"{', '.join(BOUND)} cannot change within a run"
        )
        raise RecipeError(
            f"{directory.path} holds a run of another recipe, so it is not continued:\n"
            + "\n".join(f"  {line}" for line in refused)
            + f"\nGive the run another run_name, set these keys back, or remove the folder; {way_out}."
        )
    notes += [f"Going on with {folder}.", *(f"  changed: {line}" for line in changed)]
    if step >= recipe.steps:
        notes.append(f"All {recipe.steps} steps are done; a larger `steps` goes on.")
    return Start(directory.path, step, notes)
