"""The whole pool is trained on, as Reinforce-Ada-Est (arXiv 2510.04996) and GRPO do."""

from __future__ import annotations

from typing import ClassVar, Literal

from ada.config import config
from ada.sampling.grouping import judged
from ada.types import Attempt, Pool


@config
class All:
    refuses: ClassVar = {"importance": "the whole pool is trained on, in its own shares: there is nothing to bring back"}

    name: Literal["all"] = "all"

    def choose(self, pool: Pool, size: int | None, seed: int) -> list[Attempt]:
        """Every attempt with a verdict. `size` must be None: a size that is not kept would be a recipe value that does nothing."""
        if size is not None:
            raise ValueError(
                f"the group size is {size}, but grouping `all` trains on whole pools: leave the size out, or use another grouping"
            )
        return judged(pool)
