"""The `evaluation` section of a recipe."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from ada.config import config, one_of
from ada.data.sources import Source


@config
class Evaluation:
    sets: Annotated[
        dict[str, Annotated[Source, one_of("ada.data.sources")]],
        Field(description="held-out problems by the name they have in metrics and reports"),
    ]
    samples: Annotated[int, Field(gt=0, description="k: responses per problem, for avg@k and pass@k")] = 8
    every: Annotated[int, Field(ge=0, description="steps between evaluations; 0: before the first step and after the last only")] = 0
