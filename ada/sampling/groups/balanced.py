"""Half right, half wrong: Reinforce-Ada's group of fixed size (arXiv 2510.04996)."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from ada.config import config
from ada.sampling.grouping import by_draw, needed_size, shuffled
from ada.types import Attempt, Pool


@config
class Balanced:
    name: Literal["balanced"] = "balanced"
    importance: Annotated[
        bool,
        Field(
            description="weight right and wrong attempts back to the pool's shares: the group's gradient is then unbiased for the pool's; "
            "off, as in the paper, the rarer outcome is favoured"
        ),
    ] = False

    def choose(self, pool: Pool, size: int | None, seed: int) -> list[Attempt]:
        """`size // 2` right attempts and the rest wrong, a shortage filled from the other side. Fewer than `size` verdicts: all of them."""
        size = needed_size(size, self.name, at_least=2 if self.importance else 1)
        right = [a for a in shuffled(pool, seed) if a.right]
        wrong = [a for a in shuffled(pool, seed) if a.wrong]
        rights = min(len(right), max(size // 2, size - len(wrong)))
        return by_draw(right[:rights] + wrong[: size - rights])
