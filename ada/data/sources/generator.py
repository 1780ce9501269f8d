from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

from pydantic import Field

from ada.config import config
from ada.data.columns import Columns, Record
from ada.data.sources import DataError


@config
class Generator(Columns):
    """Problems that a function of yours yields: dictionaries, the same ones in the same order at each call (a run that is continued
    reads them again). One that never ends needs a `limit`."""

    name: Literal["generator"] = "generator"
    function: Annotated[
        str,
        Field(
            pattern=r"^[A-Za-z_][\w.]*:[A-Za-z_]\w*$",
            description="module:function, called without arguments; the module may lie in the current folder",
        ),
    ]

    @property
    def described(self) -> str:
        return self.function

    def records(self) -> Iterator[Record]:
        for number, record in enumerate(self._function()(), start=1):
            where = f"{self.function}, row {number}"
            if not isinstance(record, Mapping):
                raise DataError(f"{where}: found a {type(record).__name__}; the function must yield dictionaries.")
            yield where, number, record

    def _function(self) -> Any:
        module, _, name = self.function.partition(":")
        if os.getcwd() not in sys.path:
            sys.path.append(os.getcwd())
        try:
            function = getattr(importlib.import_module(module), name, None)
        except ImportError as error:
            raise DataError(f"{self.function}: module {module!r} cannot be imported ({error}). Put it into the current folder.") from None
        if not callable(function):
            raise DataError(f"{self.function}: module {module!r} has no function {name!r}.")
        return function
