"""What is in a recipe's data: rows, repeated problems, and evaluation problems that are trained on."""

from __future__ import annotations

from ada.data.contamination import overlaps
from ada.data.duplicates import Duplicates
from ada.data.sources import MissingData, Source
from ada.recipe.schema import Recipe


def data_lines(recipe: Recipe) -> tuple[list[str], list[str]]:
    """A line for each source that was read, and for each that is missing on this machine. Raises DataError for a row of no use."""
    sources = {"training": recipe.data.train, **recipe.evaluation.sets}
    problems: dict[str, dict[str, str]] = {}
    lines: dict[str, str] = {}
    missing: dict[str, str] = {}
    for label, source in sources.items():
        try:
            problems[label], lines[label] = _read(source)
        except (MissingData, OSError, ImportError) as error:
            missing[label] = f"not read: {str(error).splitlines()[0] if str(error) else type(error).__name__}"
    train = problems.pop("training", None)
    if train is not None:
        for label, overlap in overlaps(train, problems).items():
            lines[label] += f"; {overlap.found or 'none of them, nor a near copy, in the training data'}"
    return [f"{label}: {line}" for label, line in lines.items()], [f"{label}: {line}" for label, line in missing.items()]


def _read(source: Source) -> tuple[dict[str, str], str]:
    problems, seen = {}, Duplicates()
    for row in source.rows():
        problems[row.id] = row.problem
        seen.add(row)
    where = f"{source.name} {getattr(source, 'path', '')}".strip()
    return problems, f"{len(problems)} rows read from {where}" + (f", {seen.count} of them repeated" if seen.count else "")
