"""The `reward` section of a recipe."""

from __future__ import annotations

from dataclasses import field
from typing import Annotated

from pydantic import Field

from ada.config import config


@config
class Reward:
    """How responses are scored: by which function, and within which limits."""

    function: Annotated[
        str,
        Field(
            pattern=r"^[A-Za-z_][\w.]*:[A-Za-z_]\w*$",
            description="the reward function, as module:function; a module of your own may lie in the current folder or beside the recipe",
        ),
    ] = "ada.rewards.boxed:score"
    threshold: Annotated[float, Field(allow_inf_nan=False, description="a response is right where its reward is above this")] = 0.5
    workers: Annotated[int, Field(gt=0, description="processes that score, on each rank")] = 2
    time_limit_seconds: Annotated[
        float, Field(gt=0, allow_inf_nan=False, description="seconds one response may take to score; then its worker is killed")
    ] = 10.0
    memory_limit_gib: Annotated[
        float | None, Field(gt=0, description="GiB of address space one worker may hold; null: no limit of its own")
    ] = 8.0
    secrets: Annotated[
        list[str],
        Field(
            description="environment variables the function may read although they look like secrets (OPENAI_API_KEY); others are hidden"
        ),
    ] = field(default_factory=list)
