"""The problems that stay, as a parquet file: the source `parquet` reads it, with its pass rates as beliefs, and so does `ada plan`."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow
from pyarrow import parquet

from ada.prepare.journal import Drawn
from ada.types import Prompt

SCHEMA = pyarrow.schema(
    [
        ("id", pyarrow.string()),
        ("problem", pyarrow.string()),
        ("answer", pyarrow.string()),
        ("pass_rate", pyarrow.float64()),  # right / (right + wrong)
        ("right", pyarrow.int32()),
        ("wrong", pyarrow.int32()),
    ]
)


def write_table(path: Path, prompts: Sequence[Prompt], problems: Mapping[str, str], drawn: Mapping[str, Drawn]) -> None:
    """In the order of `prompts`. Whole or not at all: what is at `path` stays until the new file is complete."""
    results = [drawn[prompt.id] for prompt in prompts]
    columns = [
        [prompt.id.partition("/")[2] for prompt in prompts],
        [problems[prompt.id] for prompt in prompts],
        [prompt.answer for prompt in prompts],
        [result.right / result.judged for result in results],
        [result.right for result in results],
        [result.wrong for result in results],
    ]
    unfinished = path.with_name(f".{path.name}.unfinished")
    parquet.write_table(pyarrow.table(columns, schema=SCHEMA), unfinished)
    os.replace(unfinished, path)
