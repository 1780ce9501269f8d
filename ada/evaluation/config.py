"""The `evaluation` section of a recipe."""

from __future__ import annotations

import dataclasses
from typing import Annotated

from pydantic import Field

from ada.config import config, one_of
from ada.data.sources import Source
from ada.engine.generation import Generation


@config
class Evaluation:
    sets: Annotated[
        dict[str, Annotated[Source, one_of("ada.data.sources")]],
        Field(description="held-out problems by the name they have in metrics and reports"),
    ]
    samples: Annotated[int, Field(gt=0, description="k: responses per problem, for avg@k and pass@k")] = 8
    every: Annotated[int, Field(ge=0, description="steps between evaluations; 0: before the first step and after the last only")] = 0
    temperature: Annotated[float, Field(gt=0, description="of evaluation's responses, whatever training draws at")] = 1.0
    top_p: Annotated[float, Field(gt=0, le=1, description="of evaluation's responses; 1 keeps all tokens")] = 1.0
    max_response_tokens: Annotated[
        int | None, Field(gt=0, description="tokens of evaluation's responses; null: generation.max_response_tokens")
    ] = None

    def law(self, training: Generation) -> Generation:
        """What evaluation draws from. Of training's law it shares the prompts' limit, and the responses' where it names none."""
        return dataclasses.replace(
            training,
            temperature=self.temperature,
            top_p=self.top_p,
            top_k=0,
            max_response_tokens=self.max_response_tokens or training.max_response_tokens,
        )
