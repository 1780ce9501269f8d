"""How many typical answers the reward service scores in a second, with two workers: mathematical ones of all usual forms, long texts."""

from __future__ import annotations

import random
import time
from collections.abc import Callable

from ada.rewards.config import Reward
from ada.rewards.service import RewardService

WORKERS, WARM_UP = 2, 200
REASONING = "We look at the two cases one by one: in the first, $a+b = 2a - {n}$, so that $\\frac{{a}}{{b}} = {n}$; the second is alike. "
SENTENCES = 20  # some 600 tokens
FORMS: list[Callable[[random.Random], tuple[str, str, str]]] = [  # gold answer, the same in another spelling, another answer
    lambda dice: (n := str(dice.randrange(10**5)), f"x = {n}", n + "1"),
    lambda dice: (n := str(dice.randrange(10**4, 10**6)), f"{int(n):,}", n + "7"),
    lambda dice: (f"\\frac{{{(a := dice.randrange(1, 99))}}}{{{(b := dice.randrange(2, 99))}}}", f"{a}/{b}", f"{a + 1}/{b}"),
    lambda dice: (
        f"{(a := dice.randrange(2, 9))}\\sqrt{{{(b := dice.choice((2, 3, 5, 7)))}}}",
        f"\\sqrt{{{a * a * b}}}",
        f"{a}\\sqrt{{11}}",
    ),
    lambda dice: (f"({(a := dice.randrange(99))}, {(b := dice.randrange(99))})", f"x={a},\\ y={b}", f"({a}, {b + 1})"),
    lambda dice: (f"(x-{(a := dice.randrange(2, 99))})(x+{a})", f"x^2-{a * a}", f"x^2+{a * a}"),
    lambda dice: (f"{(a := dice.randrange(2, 50))}\\pi", f"{a}\\pi\\text{{ cm}}", f"{a + 1}\\pi"),
    lambda dice: (f"[{(a := dice.randrange(9))}, \\infty)", f"x \\ge {a}", f"x > {a}"),
]


def responses_per_second(count: int) -> float:
    """Of `count` responses, half of them right, submitted at once; raises AssertionError where a verdict is not as it must be."""
    dice = random.Random(0)
    tasks = [_task(dice, right=i % 2 == 0) for i in range(count + WARM_UP)]
    service = RewardService(Reward(function="ada.rewards.math:score", workers=WORKERS, queue=count + WARM_UP))
    try:
        _score(service, tasks[:WARM_UP])
        began = time.perf_counter()
        rewards = _score(service, tasks[WARM_UP:])
        seconds = time.perf_counter() - began
    finally:
        service.close()
    assert rewards == [float(i % 2 == 0) for i in range(count)]
    return count / seconds


def _task(dice: random.Random, right: bool) -> tuple[str, str]:
    gold, same, other = dice.choice(FORMS)(dice)
    reasoning = "".join(REASONING.format(n=dice.randrange(1000)) for _ in range(SENTENCES))
    return f"{reasoning}\n\nTherefore the answer is $\\boxed{{{same if right else other}}}$.", gold


def _score(service: RewardService, tasks: list[tuple[str, str]]) -> list[float]:
    for key, (response, gold) in enumerate(tasks):
        service.submit(key, response, gold)
    found = {}
    while service.pending:
        found |= {key: verdict.reward for key, verdict in service.poll(1.0)}
    return [found[key] for key in range(len(tasks))]
