"""What a decoding step costs on this machine as a function of the draws that run, and what a draw costs beside its steps."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from scipy.optimize import least_squares

from ada.contracts import Engine
from ada.sampling.collector import Collector
from ada.sampling.schedules.uniform import Uniform
from ada.simulation.costs import DecodeCost, StartCost
from ada.types import Draw, Prompt, Response

TYPICAL_ERROR = 1e-3  # seconds; larger ones, which other programs cause, count less and less


class Watched:
    """An engine whose turns are timed: from the end of a step to the end of the next, what the collector does between them included."""

    def __init__(self, engine: Engine):
        self.engine = engine
        self.turns: list[tuple[int, int, float]] = []  # draws running, draws started, seconds
        self.running = self.started = self.steps = 0
        self.last_end = 0.0

    def begin(self) -> None:
        self.turns, self.steps, self.last_end = [], 0, time.perf_counter()

    def submit(self, draw: Draw) -> None:
        self.engine.submit(draw)
        self.running += 1
        self.started += 1

    def step(self) -> list[Response]:
        finished = self.engine.step()
        now = time.perf_counter()
        self.turns.append((self.running, self.started, now - self.last_end))
        self.running -= len(finished)
        self.started, self.last_end = 0, now
        self.steps += 1
        return finished

    def abort(self, draws: Iterable[Draw]) -> int:
        ended = list(draws)
        self.running -= len(ended)
        return self.engine.abort(ended)

    def interrupt(self, draws: Iterable[Draw]) -> list[Draw]:
        interrupted = self.engine.interrupt(draws)
        self.running -= len(interrupted)
        return interrupted

    def __getattr__(self, name: str) -> Any:
        return getattr(self.engine, name)


def decode_cost(watched: Watched, collector: Collector, prompts: Sequence[Prompt], together: Sequence[int]) -> tuple[DecodeCost, StartCost]:
    """Seconds of a step, between the numbers of draws in `together`, and of draws that begin beside them: a fit over all turns of
    collections of so many draws at once."""
    turns = []
    most = collector.max_concurrent
    for number in (together[-1], *together):  # the first one warms up
        collector.max_concurrent = number
        watched.begin()
        collector.collect(f"cost-of-{number}", prompts, Uniform(draws=max(1, 4 * number // len(prompts))))
        turns.append(watched.turns)
    collector.max_concurrent = most
    running, started, seconds = np.array([turn for turns_of in turns[1:] for turn in turns_of]).T
    knots = np.array(together, dtype=float)
    hats = np.stack([np.interp(running, knots, row) for row in np.eye(len(knots))], 1)
    features = np.column_stack([hats, started > 0, started])
    fit = least_squares(
        lambda x: features @ x - seconds,
        np.full(features.shape[1], seconds.mean()),
        bounds=(1e-6, np.inf),
        loss="soft_l1",
        f_scale=TYPICAL_ERROR,
    )
    *steps, per_step, per_draw = fit.x.tolist()
    return DecodeCost(tuple(zip(knots.tolist(), steps, strict=True))), StartCost(per_step, per_draw)
