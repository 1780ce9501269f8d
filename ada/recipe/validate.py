"""From a loaded dictionary to a typed, frozen Recipe; every mistake is told with its file, key, value and what is allowed."""

from __future__ import annotations

import dataclasses
import json
import types
from difflib import get_close_matches
from functools import cache
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin, get_type_hints

import yaml
from pydantic import TypeAdapter, ValidationError

from ada.config import methods, one_of
from ada.recipe.checks import check
from ada.recipe.errors import RecipeError
from ada.recipe.load import Loaded, load
from ada.recipe.schema import Recipe

Path = tuple[str, ...]
T = TypeVar("T")


def read_recipe(name: str, overrides: list[str] | None = None) -> tuple[str, Recipe]:
    """The name and typed content of recipe `name` with `key=value` overrides. Raises RecipeError."""
    loaded = load(name, overrides or [])
    return loaded.name, validate(loaded)


def validate(loaded: Loaded) -> Recipe:
    recipe = typed(Recipe, loaded)
    complaints = [_refused(loaded, recipe, tuple(c.key.split(".")), c.message) for c in check(recipe)]
    if complaints:
        raise RecipeError("\n".join(complaints))
    return recipe


def typed(section: type[T], loaded: Loaded) -> T:
    """The loaded values as an instance of `section`. Raises RecipeError for unknown and missing keys and for values of other types."""
    complaints = [_unknown(section, loaded, path, where) for path, where in _unknown_keys(section, loaded.values, ())]
    if complaints:
        raise RecipeError("\n".join(complaints))
    try:
        # As JSON: there, strict means that no value changes its type, and a mapping may still become a section.
        instance: T = _adapter(section).validate_json(json.dumps(loaded.values, default=str))  # type: ignore[arg-type]
        return instance
    except ValidationError as error:
        raise RecipeError("\n".join(dict.fromkeys(_complaint(loaded, dict(e)) for e in error.errors()))) from None


@cache
def _adapter(section: Any) -> TypeAdapter[Any]:
    return TypeAdapter(section)


def dump(recipe: Any) -> str:
    """The whole recipe as YAML, every default written out; reading it back gives the same recipe."""
    return yaml.safe_dump(dataclasses.asdict(recipe), sort_keys=False, allow_unicode=True)


def _unknown_keys(cls: type, values: Any, path: Path) -> list[tuple[Path, type]]:
    """Where they are, and the section that does not know them."""
    if not isinstance(values, dict):
        return []
    hints = get_type_hints(cls, include_extras=True)
    known = [f.name for f in dataclasses.fields(cls)]
    found: list[tuple[Path, type]] = []
    for key, value in values.items():
        if key not in known:
            found.append(((*path, key), cls))
            continue
        by_key = get_origin(_bare(hints[key])) is dict and isinstance(value, dict)
        for inner, where in [(v, (*path, key, k)) for k, v in value.items()] if by_key else [(value, (*path, key))]:
            section = _section(hints[key], inner)
            if section is not None:
                found += _unknown_keys(section, inner, where)
    return found


def _section(hint: Any, value: Any) -> type | None:
    """The config class behind a key's type, or None where the key holds a plain value (or names no known method)."""
    if get_origin(hint) is Annotated:
        folder = next((m.folder for m in get_args(hint)[1:] if isinstance(m, one_of)), None)
        if folder is not None:
            return methods(folder).get(value.get("name", "")) if isinstance(value, dict) else None
        if len(choices := [c for c in get_args(get_args(hint)[0]) if isinstance(c, type) and dataclasses.is_dataclass(c)]) > 1:
            named = value.get("name", "") if isinstance(value, dict) else None
            return next((c for c in choices if getattr(c, "name", None) == named), None)
    if get_origin(_bare(hint)) is dict:
        return _section(get_args(_bare(hint))[1], value)
    bare = _bare(hint)
    return bare if isinstance(bare, type) and dataclasses.is_dataclass(bare) else None


def _bare(hint: Any) -> Any:
    if get_origin(hint) is Annotated:
        return _bare(get_args(hint)[0])
    if get_origin(hint) in (Union, types.UnionType):
        return _bare(next(a for a in get_args(hint) if a is not type(None)))
    return hint


def _unknown(root: type, loaded: Loaded, path: Path, section: type) -> str:
    """A method may name, in `refuses`, keys of its kin that make no sense for it, with the reason."""
    if reason := getattr(section, "refuses", {}).get(path[-1]):
        return _told(loaded, path, f"{reason}; leave the key out")
    known = [f.name for f in dataclasses.fields(section)]
    elsewhere = {key.rpartition(".")[2]: key for key in reversed(keys_of(root))}  # of two sections with such a key the first is named
    near = get_close_matches(path[-1], known, n=1, cutoff=0.5)
    near = near or [elsewhere[name] for name in get_close_matches(path[-1], elsewhere, n=1, cutoff=0.7)]
    hint = f"did you mean {near[0]!r}? " if near else ""
    return _told(loaded, path, f"no such key; {hint}known here: {', '.join(known)}")


def keys_of(section: type, prefix: str = "") -> list[str]:
    """Every key of a section and of the sections in it, dotted; not those of methods, which depend on the method."""
    keys: list[str] = []
    for key, hint in get_type_hints(section, include_extras=True).items():
        inner = _section(hint, None)
        keys += [prefix + key] if inner is None else keys_of(inner, f"{prefix}{key}.")
    return keys


def _complaint(loaded: Loaded, error: dict[str, Any]) -> str:
    path = _path_of(loaded.values, error["loc"])
    if error["type"] == "missing":
        path = (
            path if path[-1:] == error["loc"][-1:] else (*path, str(error["loc"][-1]))
        )  # a method named by a word, `kl=k3`, has no keys yet
        return f"{loaded.origin(path[:-1])}: {'.'.join(path)} is missing; this key has no default and must be set"
    message = str(error["msg"]).removeprefix("Value error, ").removeprefix("Input should be ")
    if error["type"] == "union_tag_invalid":
        near = get_close_matches(str(error["ctx"]["tag"]), error["ctx"]["expected_tags"].replace("'", "").split(", "), n=1, cutoff=0.5)
        message = f"no method of this name; {f'did you mean {near[0]!r}? ' if near else ''}known: {error['ctx']['expected_tags']}"
    elif error["type"] == "union_tag_not_found":
        message = "the section must name its method, for example {name: ...}"
    elif error["type"] != "value_error":
        message = f"must be {message}"
    return _told(loaded, path, message)


def _told(loaded: Loaded, path: Path, message: str) -> str:
    return f"{loaded.origin(path)}: {'.'.join(path)} = {_shown(_value_at(loaded.values, path))}: {message}"


def _refused(loaded: Loaded, recipe: Recipe, path: Path, message: str) -> str:
    """A combination of keys. The one to change may be in no file: then it has its default."""
    if _is_set(loaded.values, path):
        return _told(loaded, path, message)
    value = _value_at(dataclasses.asdict(recipe), path)
    return f"{'.'.join(path)} = {_shown(value)}, which is its default: {message}"


def _path_of(values: Any, loc: tuple[Any, ...]) -> Path:
    """Pydantic puts the names of chosen methods and types between the keys; only the keys are the user's."""
    path: list[str] = []
    for position, part in enumerate(loc):
        if isinstance(values, dict) and part in values:
            path.append(str(part))
            values = values[part]
        elif position == len(loc) - 1 and isinstance(values, dict) and not (values.get("name") == part):
            path.append(str(part))
    return tuple(path)


def _is_set(values: Any, path: Path) -> bool:
    """Null, too, is a value that a file or the command line may set."""
    inner = _value_at(values, path[:-1])
    return isinstance(inner, dict) and path[-1] in inner


def _value_at(values: Any, path: Path) -> Any:
    for part in path:
        if not isinstance(values, dict) or part not in values:
            return None
        values = values[part]
    return values


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."
