"""Where every draw of a step went: trained on, set aside, dropped, or without a verdict. None may be lost, and none counted twice."""

from __future__ import annotations

from collections.abc import Sequence as Many
from dataclasses import dataclass

from ada.sampling.grouping import judged
from ada.types import Attempt, Group, Pool, Sequence


@dataclass(frozen=True, slots=True)
class Ledger:
    drawn: int  # responses in the step's pools
    trained: int  # entered an update
    set_aside: int  # not in their prompt's group
    dropped: int  # in their prompt's group, and left out by a rule of the recipe: no gradient, all alike, cut off
    failed: int  # without a verdict

    def metrics(self) -> dict[str, float | None]:
        return {"sampling/trained": self.trained, "sampling/set_aside": self.set_aside, "sampling/dropped": self.dropped}


def ledger(pools: Many[Pool], groups: Many[Group], sequences: Many[Sequence], trained: int) -> Ledger:
    """`groups[i]` is that of `pools[i]`; `trained`: sequences that the actor says its updates had. Raises RuntimeError where it fails to
    add up: a fault of the program, after which no figure of the run could be trusted."""
    entry = Ledger(
        drawn=sum(pool.drawn for pool in pools),
        trained=trained,
        set_aside=sum(len(_draws(judged(pool)) - _draws(group.attempts)) for pool, group in zip(pools, groups, strict=True)),
        dropped=sum(len(group.attempts) for group in groups) - len(sequences),
        failed=sum(not attempt.judged for pool in pools for attempt in pool.attempts),
    )
    if entry.drawn != entry.trained + entry.set_aside + entry.dropped + entry.failed:
        raise RuntimeError(f"draws were lost or counted twice: {entry}. This is a fault of ada: please report it with the recipe")
    return entry


def _draws(attempts: Many[Attempt]) -> set[int]:
    return {attempt.response.draw for attempt in attempts}
