"""From records with columns to rows: which column is what, as the recipe says; all sources of records share it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Annotated, Any

from pydantic import Field

from ada.config import config
from ada.data import values
from ada.data.sources import DataError, Row
from ada.types import PassRate

Record = tuple[str, int, Mapping[str, Any]]
"""Where it is, for messages ("train.jsonl, line 3"); its number, from 1; its values by column."""

USUAL = {
    "problem": ("problem", "question", "prompt", "query", "instruction", "input"),
    "answer": ("answer", "gt", "ground_truth", "final_answer", "expected_answer", "gold", "target", "solution", "label"),
}


@config
class Columns:
    """A column inside another is named by its path: `reward_model.ground_truth`, or `messages.0.content` in a list."""

    problem: Annotated[str, Field(description="column that holds the problem's text")] = "problem"
    answer: Annotated[str, Field(description="column that holds the gold answer")] = "answer"
    id: Annotated[str | None, Field(description="column that names the row; null: its number, from 1")] = None
    pass_rate: Annotated[
        str | None, Field(description="column with the share of a model's responses that were right: the belief to start from; null: none")
    ] = None
    pass_rate_draws: Annotated[float, Field(gt=0, description="responses that such a pass rate is worth as evidence")] = 16.0
    limit: Annotated[int | None, Field(gt=0, description="rows to read from the start; null: all")] = None

    @abstractmethod
    def records(self) -> Iterator[Record]:
        """All records in their order. Raises MissingData where there is nothing to read, DataError for what cannot be read."""

    def rows(self) -> Iterator[Row]:
        seen: dict[str, str] = {}
        for where, number, record in self.records():
            if not seen:
                self._require_columns(record, where)
            row = self._row(record, number, where)
            if row.id in seen:
                raise DataError(
                    f"{where}: id {row.id!r} is already that of {seen[row.id]}. Ids must be unique; set `id: null` to use row numbers."
                )
            seen[row.id] = where
            yield row
            if len(seen) == self.limit:
                return
        if not seen:
            raise DataError(f"{self.described}: it holds no rows.")

    @property
    def mapped(self) -> list[str]:
        """The columns that are read."""
        return [column for column in (self.problem, self.answer, self.id, self.pass_rate) if column is not None]

    @property
    def described(self) -> str:
        return str(getattr(self, "path", type(self).__name__))

    def _require_columns(self, record: Mapping[str, Any], where: str) -> None:
        """The first record shows whether the recipe's columns are there; the message says which key to set, and to what."""
        for key in ("problem", "answer", "id", "pass_rate"):
            column = getattr(self, key)
            if column is not None and not values.found(record, column):
                there = ", ".join(map(repr, record)) or "none"
                guess = _guess(key, column, list(record))
                fix = f"Set this source's key `{key}` to one of them" + (f", for example `{key}: {guess}`." if guess else ".")
                raise DataError(f"{where}: no column {column!r}; the columns are {there}. {fix}")

    def _row(self, record: Mapping[str, Any], number: int, where: str) -> Row:
        for column in self.mapped:
            if not values.found(record, column):
                raise DataError(f"{where}: no column {column!r}, which earlier rows have. Drop the row or fill it in.")
        return Row(
            id=str(number) if self.id is None else values.text(record, self.id, where),
            problem=values.text(record, self.problem, where),
            answer=values.text(record, self.answer, where),
            prior=None
            if self.pass_rate is None
            else PassRate(values.probability(record, self.pass_rate, where), strength=self.pass_rate_draws),
        )


def _guess(key: str, column: str, there: list[str]) -> str | None:
    usual = [name for name in USUAL.get(key, ()) if name in there]
    return next(iter(get_close_matches(column, there, n=1, cutoff=0.75) or usual), None)
