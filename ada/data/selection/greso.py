"""Prompts whose last rounds taught nothing are skipped, more surely the longer that lasts: GRESO (arXiv 2506.02177)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from ada.config import config
from ada.data.selection.epochs import Epochs, require_enough
from ada.sampling.schedules.dapo import has_signal
from ada.types import Pool, Prompt

Kind = Literal["easy", "hard"]  # all responses right, or all wrong: what equal rewards were last


@config
class GRESO:
    """Epochs as in `shuffle`, but a prompt whose last z rounds had equal rewards is skipped in an epoch with probability 1 - e^z.

    e is the base exploration probability of its kind, easy or hard. After each step beyond the first epoch it falls by `step` where that
    kind's share of the step's prompts reached its target, and rises by it where not. Defaults are those of the authors' program
    (github.com/Infini-AI-Lab/GRESO: `p_easy`, `p_hard`, `target_zero_variance` 0.25, of which a third is easy, `min_p`, `max_p`); it also
    draws any prompt with probability 0.01 at least, which the paper does not say, and this does not do.
    """

    name: Literal["greso"] = "greso"
    exploration: Annotated[float, Field(ge=0, le=1, description="base exploration probability at the start, of both kinds")] = 0.5
    step: Annotated[float, Field(ge=0, le=1, description="change of the base exploration probabilities at each step; 0: none")] = 0.01
    easy_target: Annotated[float, Field(ge=0, le=1, description="share of a step's prompts that may be all right")] = 1 / 12
    hard_target: Annotated[float, Field(ge=0, le=1, description="share of a step's prompts that may be all wrong")] = 1 / 6
    minimum: Annotated[float, Field(ge=0, le=1, description="base exploration probabilities fall no lower")] = 0.05
    maximum: Annotated[float, Field(ge=0, le=1, description="base exploration probabilities rise no higher")] = 0.95

    def __post_init__(self) -> None:
        if not self.minimum <= self.exploration <= self.maximum:
            raise ValueError(
                f"data.selection.exploration is {self.exploration}; it must be from data.selection.minimum = {self.minimum} "
                f"to data.selection.maximum = {self.maximum}: change one of the three"
            )

    def start(self, prompts: Sequence[Prompt], seed: int) -> SelectivePrompts:
        return SelectivePrompts(self, prompts, seed)


class SelectivePrompts:
    def __init__(self, config: GRESO, prompts: Sequence[Prompt], seed: int):
        self.config, self.prompts, self.seed = config, prompts, seed
        self.order = Epochs(len(prompts), seed)
        self.taken = 0  # places of the endless order that were read
        self.exploration: dict[Kind, float] = {"easy": config.exploration, "hard": config.exploration}
        self.last: dict[str, Kind] = {}  # by prompt id
        self.series: dict[str, int] = {}  # z by prompt id: rounds in a row with equal rewards, up to the last

    def next(self, count: int, beside: Collection[str] = ()) -> list[Prompt]:
        """`count` prompts; one that comes up while its step has it already is passed over. Where two epochs of reading find too few, those
        skipped come in, the shortest series of equal rewards first.

        Raises ValueError where there are not so many prompts.
        """
        require_enough(self.prompts, count, beside)
        chosen: dict[int, Prompt] = {}
        skipped: dict[int, int] = {}  # length of its series of equal rewards
        for _ in range(2 * len(self.prompts)):  # whatever the place in the epoch, every prompt is read
            if len(chosen) == count:
                break
            index, series, skip = self._read()
            if index in chosen or self.prompts[index].id in beside:
                continue
            if skip:
                skipped[index] = series
            else:
                chosen[index] = self.prompts[index]
        spare = [index for index in sorted(skipped, key=skipped.__getitem__) if index not in chosen]
        return list(chosen.values()) + [self.prompts[index] for index in spare[: count - len(chosen)]]

    def _read(self) -> tuple[int, int, bool]:
        """The prompt at the next place of the order, its series of equal rewards, and whether it is skipped: a coin of that place's own."""
        place = self.taken
        self.taken += 1
        index = self.order[place]
        identity = self.prompts[index].id
        series = self.series.get(identity, 0)
        if not series:
            return index, 0, False
        explore = self.exploration[self.last[identity]] ** series
        return index, series, bool(np.random.default_rng([self.seed, place, 1]).random() >= explore)

    def learn(self, pools: Sequence[Pool]) -> None:
        """Pools without any verdict say nothing."""
        judged = [pool for pool in pools if pool.right + pool.wrong]
        seen: dict[Kind, int] = {"easy": 0, "hard": 0}
        for pool in judged:
            if has_signal(pool):
                self.series.pop(pool.prompt.id, None)
                continue
            kind: Kind = "easy" if pool.right else "hard"
            seen[kind] += 1
            self.last[pool.prompt.id] = kind
            self.series[pool.prompt.id] = self.series.get(pool.prompt.id, 0) + 1
        if judged and self.taken > len(self.prompts):  # in the first epoch nothing is skipped
            self._explore("easy", seen["easy"] / len(judged), self.config.easy_target)
            self._explore("hard", seen["hard"] / len(judged), self.config.hard_target)

    def _explore(self, kind: Kind, share: float, target: float) -> None:
        moved = self.exploration[kind] + (-self.config.step if share >= target else self.config.step)
        self.exploration[kind] = min(self.config.maximum, max(self.config.minimum, moved))

    def state_dict(self) -> dict[str, Any]:
        return {"taken": self.taken, "exploration": dict(self.exploration), "last": dict(self.last), "series": dict(self.series)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.taken, self.exploration = state["taken"], dict(state["exploration"])
        self.last, self.series = dict(state["last"]), dict(state["series"])
