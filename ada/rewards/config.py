"""The `reward` section of a recipe."""

from __future__ import annotations

from dataclasses import field
from typing import Annotated, Any, Literal

from pydantic import Field

from ada.config import config

Function = Annotated[str, Field(pattern=r"^[A-Za-z_][\w.]*:[A-Za-z_]\w*$")]


@config
class Part:
    """One of several reward functions."""

    function: Annotated[Function, Field(description="module:function, as reward.function")]
    weight: Annotated[float, Field(allow_inf_nan=False, description="what its value is multiplied by in the reward; 0: only reported")] = (
        1.0
    )
    arguments: Annotated[dict[str, Any], Field(description="keyword arguments of the function")] = field(default_factory=dict)


@config
class Reward:
    """How responses are scored: by which function or functions, and within which limits."""

    function: Annotated[
        Function | None,
        Field(
            description="the reward function, as module:function; a module of your own may lie in the current folder or beside the recipe; "
            "null: see parts"
        ),
    ] = "ada.rewards.boxed:score"
    arguments: Annotated[dict[str, Any], Field(description="keyword arguments of the function")] = field(default_factory=dict)
    parts: Annotated[
        dict[str, Part], Field(description="several functions by name, in the place of `function`: the reward is their weighted sum")
    ] = field(default_factory=dict)
    right: Annotated[
        str | None, Field(description="the part whose value decides whether a response is right; null: the whole reward does")
    ] = None
    threshold: Annotated[float, Field(allow_inf_nan=False, description="a response is right where that value is above this")] = 0.5
    unknown: Annotated[
        Literal["masked", "wrong"],
        Field(
            description="a response without a verdict (time-out, crash, unreadable gold answer): masked: neither right nor wrong, never "
            "trained on; wrong: a reward of 0. Either way it is counted in the metrics"
        ),
    ] = "masked"
    workers: Annotated[int, Field(gt=0, description="processes that score, on each rank")] = 2
    queue: Annotated[
        int, Field(gt=0, description="responses that may wait for their verdict; generation pauses while there are as many")
    ] = 4096
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
    audit: Annotated[
        Function | None, Field(description="a second reward function, whose disagreements with this one `ada check` reports")
    ] = None

    def __post_init__(self) -> None:
        if bool(self.function) == bool(self.parts):
            raise ValueError(
                f"function = {self.function!r} and parts = {sorted(self.parts)}: a reward has one or the other; "
                + ("set function=null" if self.parts else "name a function, as module:function, or parts")
            )
        if self.parts and self.arguments:
            raise ValueError("arguments belong to a function, and there are several: set those of each part")
        if self.right is not None and self.right not in self.parts:
            raise ValueError(f"right = {self.right!r} names no part; allowed: null, {', '.join(sorted(self.parts)) or 'with `function`'}")

    @property
    def named(self) -> dict[str, Part]:
        """The functions by the name of their part; a single one's is empty."""
        return self.parts or {"": Part(function=str(self.function), arguments=self.arguments)}
