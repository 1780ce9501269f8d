"""Half right, half wrong: Reinforce-Ada's group of fixed size (arXiv 2510.04996, algorithm 1)."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from ada.config import config
from ada.sampling.grouping import judged
from ada.types import Attempt, Pool


@config
class Balanced:
    name: Literal["balanced"] = "balanced"
    importance: Annotated[
        bool,
        Field(
            description="weight right and wrong attempts back to the pool's shares, so that the group's gradient is unbiased for the pool's"
        ),
    ] = False

    def choose(self, pool: Pool, size: int | None, seed: int) -> list[Attempt]:
        """`size // 2` right attempts and the rest wrong, a shortage filled from the other side. Fewer than `size` verdicts: all of them."""
        if size is None:
            raise ValueError("grouping `balanced` needs a group size, found none: give one, or use grouping `all`")
        right = [a for a in judged(pool) if a.right]
        wrong = [a for a in judged(pool) if a.wrong]
        rights = min(len(right), max(size // 2, size - len(wrong)))
        wrongs = min(len(wrong), size - rights)
        random = np.random.default_rng(seed)
        taken = [right[i] for i in random.permutation(len(right))[:rights]] + [wrong[i] for i in random.permutation(len(wrong))[:wrongs]]
        return sorted(taken, key=lambda a: a.response.draw)
