from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import Field

from ada.config import config
from ada.data.sources import DataError, Row


@config
class ReasoningGym:
    """Procedural tasks of the reasoning-gym library (arXiv 2505.24760), made as they are read. Scored by `ada.rewards.procedural:score`."""

    name: Literal["reasoning_gym"] = "reasoning_gym"
    tasks: Annotated[
        dict[str, dict[str, Any]],
        Field(min_length=1, description="settings by task, for example {chain_sum: {max_terms: 4}, leg_counting: {}}; {}: its defaults"),
    ]
    size: Annotated[int, Field(gt=0, description="problems of each task")] = 500
    seed: Annotated[int, Field(ge=0, description="of the problems: the same seed makes the same ones; evaluation sets take another")] = 0

    def rows(self) -> Iterator[Row]:
        import reasoning_gym
        from reasoning_gym.factory import DATASETS

        for task, settings in self.tasks.items():
            if task not in DATASETS:
                raise DataError(f"reasoning-gym has no task {task!r}. It has: {', '.join(sorted(DATASETS))}.")
            try:
                problems = reasoning_gym.create_dataset(task, size=self.size, seed=self.seed, **settings)
            except (TypeError, ValueError, AssertionError) as error:
                raise DataError(f"task {task!r} of reasoning-gym does not take {settings}: {error}") from None
            for index in range(self.size):
                entry = problems[index]
                try:
                    answer = json.dumps({"task": task, "entry": {key: entry[key] for key in ("question", "answer", "metadata")}})
                except TypeError as error:
                    raise DataError(f"task {task!r} of reasoning-gym, problem {index}: its facts are no plain data ({error})") from None
                yield Row(f"{task}-{self.seed}-{index}", entry["question"], answer)
