"""Pools written as strings: R right, W wrong, F failed to be scored."""

from __future__ import annotations

from collections.abc import Iterable

from ada.contracts import Schedule
from ada.types import Attempt, PassRate, Pool, Prompt, Response


def prompt(id: str = "test/0") -> Prompt:
    return Prompt(id=id, token_ids=(1, 2), answer="3", source=id.split("/")[0], text="1+2=")


def attempt(verdict: str, draw: int, prompt_id: str = "test/0") -> Attempt:
    response = Response(prompt_id, draw, token_ids=(5, 0), logprobs=(-0.1, -0.2), finish_reason="stop", weight_version=0)
    return Attempt(response, text="3", reward=float(verdict == "R"), right=verdict == "R", failure="timeout" if verdict == "F" else None)


def pool(verdicts: str, id: str = "test/0", belief: float | None = None, seed: int = 0) -> Pool:
    attempts = [attempt(verdict, draw, id) for draw, verdict in enumerate(verdicts)]
    return Pool(prompt(id), belief=None if belief is None else PassRate(belief, 1.0), budget=len(verdicts), attempts=attempts, seed=seed)


def verdicts(attempts: Iterable[Attempt]) -> str:
    return "".join("R" if a.right else "W" if a.wrong else "F" for a in attempts)


def sample(schedule: Schedule, pools: list[Pool], verdicts: Iterable[Iterable[str]]) -> list[Pool]:
    """What a collector does, one draw at a time: the schedule is asked every M draws of each pool, and for budgets when all are used up."""
    sources = [iter(v) for v in verdicts]
    while True:
        open_pools = [p for p in pools if p.outcome is None]
        allotted = schedule.budgets(pools)
        if all(allotted[i] <= p.drawn for i, p in enumerate(pools) if p.outcome is None):
            for p in open_pools:
                p.outcome = "exhausted"
            return pools
        for p, budget in zip(pools, allotted, strict=True):
            p.budget = budget
        for p, source in zip(pools, sources, strict=True):
            while p.outcome is None and p.drawn < p.budget:
                p.attempts.append(attempt(next(source), p.drawn, p.prompt.id))
                if p.drawn % schedule.check_every == 0:
                    p.rounds += 1
                    p.outcome = schedule.stop(p)
