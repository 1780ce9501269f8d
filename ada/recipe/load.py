"""From a recipe's YAML to a dictionary, with the place each value came from.

`extends: NAME` takes another recipe as the base, `extends: [NAME, NAME]` several, each laid over those before it. Sections are merged
key by key; where what is laid over names another method (`schedule: {name: uniform, ...}` over `seq`), its section replaces the old one,
so no key of the old method stays behind.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from ada.recipe.errors import RecipeError

COMMAND_LINE = "command line"
Origins = dict[tuple[str, ...], str]


@dataclass(frozen=True)
class Loaded:
    name: str
    values: dict[str, Any]
    origins: Origins  # where the value at a path was written last

    def origin(self, path: tuple[str, ...]) -> str:
        for length in range(len(path), 0, -1):
            if path[:length] in self.origins:
                return self.origins[path[:length]]
        return self.name


def recipe_folders() -> list[Path]:
    """Where a recipe's name is looked up: ./recipes, then the recipes that came with the source tree."""
    return [Path("recipes"), Path(__file__).parents[2] / "recipes"]


def find_recipe(name: str, beside: Path | None = None) -> Path:
    folders = ([beside] if beside else []) + recipe_folders()
    candidates = [Path(name)] if name.endswith((".yaml", ".yml")) else []
    candidates += [folder / (name if name.endswith((".yaml", ".yml")) else f"{name}.yaml") for folder in folders]
    for path in candidates:
        if path.is_file():
            return path
    known = sorted({p.stem for folder in folders for p in folder.glob("*.yaml")})
    message = f"recipe {name!r}: no such file in {', '.join(str(f) for f in folders)}"
    raise RecipeError.unknown_name(message, name, known, listed_by="`ada recipes`")


def load(name: str, overrides: list[str]) -> Loaded:
    """Reads recipe `name` (a name in recipes/ or a path), what it extends, and `key=value` overrides, in this order."""
    path = find_recipe(name)
    values: dict[str, Any] = {}
    origins: Origins = {}
    _lay_over(values, path, origins, ())
    for override in overrides:
        _merge(values, _parse_override(override), COMMAND_LINE, origins, ())
    try:
        resolved = OmegaConf.to_container(OmegaConf.create(values), resolve=True)
    except OmegaConfBaseException as error:
        raise RecipeError(f"{path}: {str(error).splitlines()[0]}") from None
    return Loaded(path.stem, _text_keys(resolved), origins)


def _text_keys(value: Any) -> Any:
    """YAML has keys that are numbers or true; a recipe has none, and says so of their text."""
    return {str(key): _text_keys(inner) for key, inner in value.items()} if isinstance(value, dict) else value


def _lay_over(values: dict[str, Any], path: Path, origins: Origins, children: tuple[Path, ...]) -> None:
    """The parents of the recipe at `path`, in their order, then its own keys."""
    if path.resolve() in children:
        raise RecipeError(f"{path}: `extends` leads back to this file. Remove one of the two.")
    own = _read(path)
    parents = own.pop("extends", [])
    parents = [parents] if isinstance(parents, str) else parents
    if not isinstance(parents, list) or not all(isinstance(parent, str) for parent in parents):
        raise RecipeError(f"{path}: extends = {parents!r}; allowed is the name or path of one recipe, or a list of them.")
    for parent in parents:
        _lay_over(values, find_recipe(parent, beside=path.parent), origins, (*children, path.resolve()))
    _merge(values, own, str(path), origins, ())


def _read(path: Path) -> dict[str, Any]:
    try:
        values = OmegaConf.to_container(OmegaConf.load(path), resolve=False)
    except (yaml.YAMLError, OmegaConfBaseException) as error:
        raise RecipeError(f"{path}: not valid YAML. {' '.join(str(error).split())}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise RecipeError(f"{path}: cannot be read ({error}).") from None
    if not isinstance(values, dict):
        raise RecipeError(f"{path}: a recipe is a mapping of keys to values; found a {type(values).__name__}.")
    return {str(key): value for key, value in values.items()}


def _parse_override(override: str) -> dict[str, Any]:
    key, equals, _ = override.partition("=")
    if not equals or not all(key.split(".")):
        raise RecipeError(f"{COMMAND_LINE}: {override!r} is not of the form key=value, for example batch.prompts_per_step=16.")
    try:
        values = OmegaConf.to_container(OmegaConf.from_dotlist([override]), resolve=False)
    except (yaml.YAMLError, OmegaConfBaseException) as error:
        raise RecipeError(f"{COMMAND_LINE}: {override!r} cannot be read as YAML. {' '.join(str(error).split())}") from None
    assert isinstance(values, dict)
    return {str(k): v for k, v in values.items()}


def _merge(base: dict[str, Any], over: dict[str, Any], origin: str, origins: Origins, path: tuple[str, ...]) -> None:
    for key, value in over.items():
        here = (*path, str(key))
        old = base.get(key)
        if isinstance(value, str) and isinstance(old, dict) and "name" in old:
            value = {"name": value}
        if isinstance(value, dict) and isinstance(old, str):  # `engine: vllm` below, `engine: {max_concurrent: 8}` above
            old = base[key] = {"name": old}
        if isinstance(value, dict) and isinstance(old, dict) and value.get("name", old.get("name")) == old.get("name"):
            _merge(old, value, origin, origins, here)
        else:
            base[key] = value
            for stale in [p for p in origins if p[: len(here)] == here]:
                del origins[stale]
        origins[here] = origin
