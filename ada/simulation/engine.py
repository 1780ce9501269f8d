"""An engine that decodes nothing: its step jumps to the next draw that ends, and its clock goes on by what that costs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import lru_cache
from heapq import heappop, heappush

from ada.engine.alone import Alone
from ada.simulation.costs import DecodeCost, StartCost
from ada.simulation.draws import DrawLaw
from ada.types import Draw, Response, Written

RIGHT, WRONG = 1, 0  # token that a response consists of


@lru_cache(maxsize=100_000)
def tokens(count: int, right: bool) -> tuple[int, ...]:
    """Shared by all responses of a length: a step of 1,024 GPUs has a million of them."""
    return (RIGHT if right else WRONG,) * count


def decode(token_ids: tuple[int, ...]) -> str:
    return "right" if token_ids[0] == RIGHT else "wrong"


@lru_cache(maxsize=100_000)
def _logprobs(count: int) -> tuple[float, ...]:
    return (0.0,) * count


class SimulatedEngine(Alone):
    """The contract Engine's submit, step, abort and interrupt. A right response is never cut off: at the cap it ends by itself."""

    def __init__(self, law: DrawLaw, cost: DecodeCost, start: StartCost, longest: int):
        self.law, self.cost, self.start, self.longest = law, cost, start, longest
        self.weight_version = 0
        self.clock = 0.0  # seconds
        self.busy = 0.0  # of them, those in which it decoded
        self.due: Callable[[], float] = lambda: math.inf  # when the next verdict comes, on the same clock
        self._decoded = 0  # steps
        self._starting = False  # some draw begins with the next step
        self._submitted = 0
        self._running: dict[tuple[str, int], tuple[int, int, Draw, int, bool]] = {}  # number, first step, draw, tokens, right
        self._ends: list[tuple[int, int, tuple[str, int]]] = []  # last step, number, name; of aborted ones too

    def submit(self, draw: Draw) -> None:
        length, right = self.law(draw)
        name = draw.prompt.id, draw.index
        self._submitted += 1
        self._running[name] = self._submitted, self._decoded, draw, length, right
        heappush(self._ends, (self._decoded + length - len(draw.begun), self._submitted, name))
        self._pass((0 if self._starting else self.start.per_step) + self.start.per_draw + self.start.per_token * len(draw.begun))
        self._starting = True

    def step(self) -> list[Response]:
        """All steps up to the next in which a draw ends, or to the next verdict, if that comes before."""
        while not self._runs(self._ends[0]):
            heappop(self._ends)
        last, seconds = self._ends[0][0], self.cost(len(self._running))
        steps = last - self._decoded
        if (until_verdict := self.due() - self.clock) < steps * seconds:
            steps = max(1, math.ceil(until_verdict / seconds))
        self._decoded += steps
        self._starting = False
        self._pass(steps * seconds)
        finished: list[Response] = []
        while self._ends and self._ends[0][0] == self._decoded:
            end = heappop(self._ends)
            if self._runs(end):
                _, _, draw, length, right = self._running.pop(end[2])
                cut_off = length >= self.longest and not right
                finished.append(
                    Response(
                        draw.prompt.id,
                        draw.index,
                        tokens(length, right),
                        _logprobs(length),
                        "length" if cut_off else "stop",
                        self.weight_version,
                        draw.begun.versions,
                    )
                )
        return finished

    def abort(self, draws: Iterable[Draw]) -> int:
        written = 0
        for draw in draws:
            if found := self._running.pop((draw.prompt.id, draw.index), None):
                written += self._decoded - found[1]
        return written

    def interrupt(self, draws: Iterable[Draw]) -> list[Draw]:
        return [self._resting(self._running.pop((draw.prompt.id, draw.index))) for draw in draws]

    def _resting(self, run: tuple[int, int, Draw, int, bool]) -> Draw:
        _, first, draw, _, right = run
        if not (written := self._decoded - first):
            return draw
        count, versions = len(draw.begun) + written, (*draw.begun.versions, (self.weight_version, written))
        return replace(draw, begun=Written(tokens(count, right), _logprobs(count), versions))

    def _runs(self, end: tuple[int, int, tuple[str, int]]) -> bool:
        found = self._running.get(end[2])
        return found is not None and found[0] == end[1]

    def _pass(self, seconds: float) -> None:
        self.clock += seconds
        self.busy += seconds
