"""docs/recipe-keys.md: every key of a recipe, from the types. `python -m ada.recipe.reference FILE` writes it."""

from __future__ import annotations

import dataclasses
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from annotated_types import Ge, Gt, Le, Lt
from pydantic.fields import FieldInfo

from ada.config import methods, one_of
from ada.recipe.schema import Recipe

HEAD = """# Recipe keys

Every key of a recipe, its type, its default and its effect. A key without a default must be set. A key whose value is *a method* takes the
method's name, or its name and its own keys: `schedule: uniform`, or `schedule: {name: uniform, draws: 8}`. On the command line the same is
`sampling.schedule=uniform`, or `sampling.schedule.draws=8`. A key that does not exist is refused.

<!-- Made by `make docs` from the types: edit those, not this. -->
"""
SIGNS = ((Ge, "ge", "≥"), (Gt, "gt", ">"), (Le, "le", "≤"), (Lt, "lt", "<"))


def reference() -> str:
    return HEAD + "".join(f"\n{part}" for part in _sections(Recipe, "", set()))


def _sections(cls: type, path: str, told: set[type]) -> Iterator[str]:
    """The table of a section, then those of the sections and methods in it, each class once."""
    yield (f"## `{path}`" if path else "## The recipe itself") + f"\n\n{_table(cls)}"
    for key, hint in get_type_hints(cls, include_extras=True).items():
        here = f"{path}.{key}" if path else key
        for choice in _choices(hint):
            if choice in told:
                continue
            told.add(choice)
            if "name" not in _fields(choice):
                yield from _sections(choice, here, told)
            elif len(_fields(choice)) > 1:
                yield f"### `{here}: {_name(choice)}`\n\n{_says(choice)}\n\n{_table(choice)}"


def _table(cls: type) -> str:
    hints = get_type_hints(cls, include_extras=True)
    lines = ["| key | type | default | meaning |", "|---|---|---|---|"]
    for field in _fields(cls).values():
        if field.name == "name" and get_origin(hints["name"]) is Literal:
            continue
        info = _info(hints[field.name])
        meaning = (info and info.description) or "its keys have a table of their own"
        lines.append(f"| `{field.name}` | {_type(hints[field.name])} | {_default(field)} | {_cell(meaning)} |")
    return "\n".join(lines) + "\n"


def _type(hint: Any) -> str:
    choices = _choices(hint)
    if choices and "name" in _fields(choices[0]):
        names = ", ".join(f"`{name}`" for name in sorted(map(_name, choices)))
        text = f"a method: {names}"
    elif choices:
        text = "section"
    else:
        text = _plain(_bare(hint))
    if get_origin(_bare(hint)) is dict:
        text = f"mapping of names, each to {text}"
    bounds = [f"{sign} {getattr(item, name):g}" for item in _limits(hint) for kind, name, sign in SIGNS if isinstance(item, kind)]
    return " ".join([text, *bounds]) + (" or null" if _optional(hint) else "")


def _plain(hint: Any) -> str:
    if get_origin(hint) is Literal:
        return " or ".join(f"`{value}`" for value in get_args(hint))
    if get_origin(hint) in (list, tuple, dict):
        inner = " to ".join(_plain(_bare(argument)) for argument in get_args(hint) if argument is not Ellipsis)
        return f"{'mapping of' if get_origin(hint) is dict else 'list of'} {inner}"
    if get_origin(hint) in (Union, types.UnionType):
        return " or ".join(_type(argument) for argument in get_args(hint) if argument is not type(None))
    return {str: "text", bool: "true or false", int: "integer", float: "number"}.get(hint) or str(getattr(hint, "__name__", hint))


def _default(field: dataclasses.Field[Any]) -> str:
    value = field.default
    if field.default_factory is not dataclasses.MISSING:
        value = field.default_factory()
    if value is dataclasses.MISSING:
        return "–"
    if dataclasses.is_dataclass(value):
        return f"`{value.name}`" if hasattr(value, "name") else "its keys' defaults"
    return {None: "null", True: "true", False: "false"}[value] if value is None or isinstance(value, bool) else f"`{_text(value)}`"


def _text(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(list(value)) if isinstance(value, tuple) else str(value) or '""'


def _choices(hint: Any) -> list[Any]:
    """The config classes that a key's value may be."""
    if get_origin(hint) is Annotated:
        folder = next((item.folder for item in get_args(hint)[1:] if isinstance(item, one_of)), None)
        return list(methods(folder).values()) if folder else _choices(get_args(hint)[0])
    if get_origin(hint) in (Union, types.UnionType, dict):
        return [choice for argument in get_args(hint) for choice in _choices(argument)]
    return [hint] if dataclasses.is_dataclass(hint) else []


def _bare(hint: Any) -> Any:
    if get_origin(hint) is Annotated:
        return _bare(get_args(hint)[0])
    if get_origin(hint) in (Union, types.UnionType):
        kept = [argument for argument in get_args(hint) if argument is not type(None)]
        return _bare(kept[0]) if len(kept) == 1 else hint
    return hint


def _limits(hint: Any) -> list[Any]:
    if get_origin(hint) in (Union, types.UnionType):
        return [item for argument in get_args(hint) for item in _limits(argument)]
    info = _info(hint)
    return list(info.metadata) if info else []


def _optional(hint: Any) -> bool:
    inner = get_args(hint)[0] if get_origin(hint) is Annotated else hint
    return type(None) in get_args(inner)


def _info(hint: Any) -> FieldInfo | None:
    return next((item for item in get_args(hint)[1:] if isinstance(item, FieldInfo)), None) if get_origin(hint) is Annotated else None


def _fields(cls: Any) -> dict[str, dataclasses.Field[Any]]:
    return {field.name: field for field in dataclasses.fields(cls)}


def _name(cls: Any) -> str:
    return str(get_args(get_type_hints(cls)["name"])[0])


def _says(cls: type) -> str:
    """The class' own docstring, or its module's; a dataclass without one has its signature there."""
    own = cls.__doc__ or ""
    text = own if not own.startswith(f"{cls.__name__}(") else sys.modules[cls.__module__].__doc__ or ""
    return _cell(text.strip().split("\n\n")[0])


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(reference(), encoding="utf-8")
