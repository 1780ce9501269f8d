"""Pools that outlive a step: more prompts are open than a step needs, it takes the first that resolve, and the others carry on under the
new weights. New ones take the places of those that are through in the next step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from math import ceil
from typing import Annotated, Any, Protocol

from pydantic import Field

from ada.config import config
from ada.contracts import Schedule
from ada.sampling.carried import Carried, from_plain, to_plain
from ada.sampling.collection import Cost
from ada.sampling.collector import Collector
from ada.sampling.turnover import Turnover, turnover
from ada.sampling.windows import Window
from ada.types import PassRate, Pool, Prompt


@config
class Streaming:
    open: Annotated[
        float,
        Field(ge=1, description="prompts open at once, over batch.prompts_per_step; a step takes the first that resolve. 1: all of them"),
    ]
    max_staleness: Annotated[
        int, Field(ge=1, description="steps; a prompt with a token that older weights drew is dropped, and may be selected again")
    ]
    verdict_after: Annotated[
        int | None,
        Field(
            ge=1,
            description="engine steps from a response to its verdict, which is held back where it is early and awaited where it is late: "
            "one rank then draws the same again after a resume; null: as soon as it is there",
        ),
    ] = None

    def prompts(self, prompts_per_step: int) -> int:
        """Open at the beginning of a step."""
        return ceil(self.open * prompts_per_step - 1e-9)  # 1.1 * 10 is a little more than 11


class Choose(Protocol):
    def __call__(self, count: int, beside: Collection[str]) -> list[Prompt]: ...


class Stream:
    """The prompts that are open between two steps: plain data, the same on all ranks and in checkpoints."""

    def __init__(self, streaming: Streaming, collector: Collector, prompts_per_step: int, schedule: Schedule, window: Window | None):
        self.streaming, self.collector, self.prompts_per_step = streaming, collector, prompts_per_step
        self.schedule, self.window = schedule, window
        self.open: list[Carried] = []
        self.drawn_in: dict[int, int] = {}  # the last step that drew with the weights of a version
        self.turnover = Turnover(0, 0, 0, 0, 0)  # of the last step

    def collect(
        self, step: int, version: int, choose: Choose, believe: Callable[[Sequence[Prompt]], Sequence[PassRate | None]]
    ) -> tuple[list[Pool], Cost]:
        """The pools of a step that draws with the weights `version`, in the order of their places among those opened with them: prompts
        that took long do not make up an update of their own. Collective.
        """
        before = self.open
        self.drawn_in[version] = step
        stale = [prompt for prompt in before if self._staleness(prompt, step) > self.streaming.max_staleness]
        for prompt in stale:
            prompt.pool.outcome = "stale"
        going_on = [prompt for prompt in before if prompt.pool.outcome != "stale"]
        self.drawn_in = {version: last for version, last in self.drawn_in.items() if step - last <= self.streaming.max_staleness}
        asked = [*going_on, *self._new(step, [_id(prompt) for prompt in going_on], choose, believe)]
        prompts, order, cost = self._drawn(asked)
        cost.surplus += sum(prompt.started for prompt in stale)
        taken, waiting = set(order[: self.prompts_per_step]), order[self.prompts_per_step :]
        self.open = [prompts[i] for i in waiting] + [prompt for prompt in prompts if prompt.pool.outcome is None]
        trained = [prompts[i] for i in sorted(taken, key=lambda i: (prompts[i].place, i))]
        opened = prompts[len(going_on) :]
        self.turnover = turnover(*([_id(prompt) for prompt in some] for some in (before, opened, trained, stale, self.open)))
        return [prompt.pool for prompt in trained], cost

    def _new(
        self, step: int, beside: list[str], choose: Choose, believe: Callable[[Sequence[Prompt]], Sequence[PassRate | None]]
    ) -> list[Carried]:
        """Prompts to open, so that as many are open as should be."""
        missing = self.streaming.prompts(self.prompts_per_step) - len(beside)
        chosen = choose(missing, beside) if missing > 0 else []
        name = f"step-{step}"
        pools = [self.collector.pool(name, *each) for each in zip(chosen, believe(chosen), strict=True)] if chosen else []
        return [Carried(name, pool, place) for place, pool in enumerate(pools)]

    def _drawn(self, prompts: list[Carried]) -> tuple[list[Carried], list[int], Cost]:
        """All of them after the step's draws; the places of those with an outcome, in the order in which they got it."""
        through = [i for i, prompt in enumerate(prompts) if prompt.pool.outcome is not None]
        others = [i for i, prompt in enumerate(prompts) if prompt.pool.outcome is None]
        drawn, order, cost = self.collector.carry_on(
            [prompts[i] for i in others],
            self.schedule,
            window=self.window,
            enough=self.prompts_per_step - len(through),
            verdict_after=self.streaming.verdict_after,
        )
        after = dict(zip(others, drawn, strict=True))
        return [after.get(i, prompt) for i, prompt in enumerate(prompts)], through + [others[i] for i in order], cost

    def _staleness(self, prompt: Carried, step: int) -> int:
        """Steps since the weights of its oldest token last drew; 0 where it has none."""
        version = prompt.oldest_version
        return 0 if version is None else step - self.drawn_in[version]

    def metrics(self, step: int, pools: Sequence[Pool]) -> dict[str, float | None]:
        """Of the step's `pools`: how old their tokens are."""
        tokens: Counter[int] = Counter()  # by staleness
        for pool in pools:
            for attempt in pool.attempts:
                for version, count in attempt.response.versions:
                    tokens[step - self.drawn_in[version]] += count
        total = max(tokens.total(), 1)
        return {
            "streaming/open": self.turnover.still_open,
            "streaming/dropped": self.turnover.dropped,
            "streaming/staleness_mean": sum(staleness * count for staleness, count in tokens.items()) / total,
            "streaming/staleness_max": max((staleness for staleness, count in tokens.items() if count), default=0),
            "streaming/stale_token_fraction": (tokens.total() - tokens[0]) / total,
        }

    def state_dict(self) -> dict[str, Any]:
        return {"open": to_plain(self.open), "drawn_in": dict(self.drawn_in)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.open, self.drawn_in = from_plain(state["open"]), dict(state["drawn_in"])


def _id(prompt: Carried) -> str:
    return prompt.pool.prompt.id
