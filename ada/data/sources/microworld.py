from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from ada.config import config
from ada.data.microworld.task import problems
from ada.data.sources import Row


@config
class Microworld:
    """Column arithmetic in bases 5 to 9: the task that ships with ada (ada/data/microworld)."""

    name: Literal["microworld"] = "microworld"
    split: Annotated[Literal["train", "heldout"], Field(description="train: 512 problems; heldout: 200 others")] = "train"

    def rows(self) -> Iterator[Row]:
        for problem in problems(self.split):
            yield Row(problem.id, problem.prompt, problem.answer)
