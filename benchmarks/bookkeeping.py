"""What the collector itself costs: an engine and a reward service that take no time, and very many open prompts."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

from ada.engine.alone import Alone
from ada.ranks import Ranks
from ada.rewards.service import Verdict
from ada.sampling.collector import Collector
from ada.sampling.schedules.seq import Seq
from ada.types import Draw, Prompt, Response

FINISHED_AT_ONCE, RESPONSE_TOKENS = 256, 20
SCHEDULE = Seq(exit="balance", check_every=4, max_draws=32, positives=2, negatives=2)


class InstantEngine(Alone):
    """Every draw is done at the next step but those before it come first; one in four is right, by its seed."""

    weight_version = 0

    def __init__(self) -> None:
        self.queue: deque[Draw] = deque()

    def submit(self, draw: Draw) -> None:
        self.queue.append(draw)

    def step(self) -> list[Response]:
        done = [self.queue.popleft() for _ in range(min(FINISHED_AT_ONCE, len(self.queue)))]
        return [Response(d.prompt.id, d.index, (d.seed & 3,) * RESPONSE_TOKENS, (-1.0,) * RESPONSE_TOKENS, "stop", 0) for d in done]

    def abort(self, draws: Iterable[Draw]) -> int:
        return 0


class InstantRewards:
    asks_about_cut_off = False

    def __init__(self) -> None:
        self.scored: list[tuple[Any, Verdict]] = []

    def submit(self, key: Any, text: str, answer: str, facts: object = None) -> None:
        self.scored.append((key, Verdict(float(text == answer), text == answer)))

    def poll(self, wait_seconds: float = 0.0) -> list[tuple[Any, Verdict]]:
        scored, self.scored = self.scored, []
        return scored


def microseconds_per_response(open_prompts: int) -> float:
    """Of one collection in which all prompts are open at once, all stub time included: CPU time of this process."""
    prompts = [Prompt(f"p/{i}", (1, 2, 3), "0", "p", "") for i in range(open_prompts)]
    decode: Callable[[tuple[int, ...]], str] = lambda ids: str(ids[0])  # noqa: E731
    collector = Collector(
        InstantEngine(),  # type: ignore[arg-type]
        InstantRewards(),  # type: ignore[arg-type]
        decode,
        Ranks(),
        seed=0,
        max_concurrent=open_prompts * SCHEDULE.check_every,
    )
    began = time.process_time()
    pools, _ = collector.collect("bookkeeping", prompts, SCHEDULE)
    return 1e6 * (time.process_time() - began) / sum(pool.drawn for pool in pools)
