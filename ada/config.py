"""What a recipe section is made of: `@config` for its class, `one_of` for a key whose value names a method.

    schedule: {name: seq, exit: balance}     ->  ada/sampling/schedules/seq.py, class Seq
    schedule: uniform                        ->  the same as {name: uniform}

A method is found by its name in the folder of its axis, so a new method is a new file there and nothing else.
"""

from __future__ import annotations

import dataclasses
import importlib
import pkgutil
from functools import cache
from typing import Annotated, Any, ClassVar, TypeVar, Union, dataclass_transform, get_args, get_type_hints

from pydantic import BeforeValidator, ConfigDict, Field, GetCoreSchemaHandler
from pydantic_core import CoreSchema

T = TypeVar("T")


@dataclass_transform(frozen_default=True, kw_only_default=True)
def config(cls: type[T]) -> type[T]:
    """A frozen, keyword-only dataclass that refuses unknown keys and never converts a value to another type."""
    cls.__pydantic_config__ = ConfigDict(extra="forbid", strict=True, arbitrary_types_allowed=True)  # type: ignore[attr-defined]
    return dataclasses.dataclass(frozen=True, kw_only=True)(cls)


@cache
def methods(folder: str) -> dict[str, type]:
    """The methods of an axis by name: every `@config` class in the modules of package `folder` with a `name: Literal[...]`."""
    found: dict[str, type] = {}
    package = importlib.import_module(folder)
    for module_info in pkgutil.iter_modules(package.__path__):
        module = importlib.import_module(f"{folder}.{module_info.name}")
        for cls in vars(module).values():
            if isinstance(cls, type) and cls.__module__ == module.__name__ and "name" in getattr(cls, "__dataclass_fields__", {}):
                found[get_args(get_type_hints(cls)["name"])[0]] = cls
    return found


class one_of:
    """Annotation of a recipe key that names a method: `schedule: Annotated[Schedule, one_of("ada.sampling.schedules")]`."""

    by_name: ClassVar = BeforeValidator(lambda value: {"name": value} if isinstance(value, str) else value)

    def __init__(self, folder: str):
        self.folder = folder

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        classes = tuple(methods(self.folder).values())
        choice: Any = classes[0] if len(classes) == 1 else Annotated[Union[classes], Field(discriminator="name")]
        if type(None) in get_args(source):
            choice = Union[choice, None]
        return handler.generate_schema(Annotated[choice, self.by_name])
