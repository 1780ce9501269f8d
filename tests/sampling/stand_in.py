"""An engine and reward workers that draw nothing: what each draw says, and how long it takes, is a hash of its seed."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from ada.contracts import Schedule
from ada.engine.alone import Alone
from ada.engine.errors import ResponseError
from ada.engine.generation import Generation
from ada.ranks import Ranks
from ada.rewards.service import Verdict
from ada.sampling.collector import Collector
from ada.sampling.seeds import seed_of
from ada.types import Attempt, Draw, Pool, Prompt, Response, Written

Law = Callable[[Draw], str]
"""What becomes of a draw: R right, W wrong, C cut off, T the reward function times out, E the engine cannot use it."""

TEXTS = {"R": 5, "W": 6, "C": 7, "T": 8}  # token that a response of this kind begins with
KINDS = {token: kind for kind, token in TEXTS.items()}


def prompts(count: int, label: str = "test") -> list[Prompt]:
    return [Prompt(f"{label}/{i}", (1, 2, 3 + i % 5), "3", label, f"{i}=") for i in range(count)]


def mixed(draw: Draw) -> str:
    """Prompts of all pass rates: of prompt i about i/10 are right, and of all some are cut off, fail or break the engine."""
    dice = random.Random(draw.seed)
    if dice.random() < 0.15:
        return dice.choice("CTE")
    return "R" if dice.random() < int(draw.prompt.id.rpartition("/")[2]) % 11 / 10 else "W"


def always(kind: str) -> Law:
    return lambda draw: kind


def response_of(draw: Draw, kind: str, version: int = 3) -> Response:
    """The same tokens, whether it was interrupted or not."""
    dice = random.Random(draw.seed + 1)
    tokens = (TEXTS[kind], *(dice.randrange(10, 30) for _ in range(dice.randrange(5))), 0)
    logprobs = tuple(-dice.random() for _ in tokens)
    return Response(draw.prompt.id, draw.index, tokens, logprobs, "length" if kind == "C" else "stop", version, draw.begun.versions)


class StandInEngine(Alone):
    """`order`: started (each step ends the oldest draw), together (all that run end in one step), a seed (some, at random), or how
    many of the oldest each step ends."""

    def __init__(self, law: Law, order: str | int | list[int] = "started"):
        self.law, self.order = law, order
        self.weight_version = 3
        self.dice = random.Random(str(order))
        self.of_prompt: Counter[str] = Counter()
        self.running: dict[tuple[str, int], Draw] = {}
        self.submitted: list[Draw] = []
        self.aborted: list[Draw] = []
        self.interrupted: list[Draw] = []  # as they rest
        self.most = 0  # draws that ran together
        self.most_of_a_prompt = 0
        self.steps = 0
        self.laws: list[Generation | None] = [None]  # the last one holds
        self.law_of: dict[int, Generation | None] = {}  # by a draw's seed

    @contextmanager
    def drawing(self, law: Generation) -> Iterator[None]:
        assert not self.running
        self.laws.append(law)
        yield
        self.laws.pop()

    def submit(self, draw: Draw) -> None:
        assert (draw.prompt.id, draw.index) not in self.running
        self.running[draw.prompt.id, draw.index] = draw
        self.submitted.append(draw)
        self.law_of[draw.seed] = self.laws[-1]
        self.most = max(self.most, len(self.running))
        self.of_prompt[draw.prompt.id] += 1
        self.most_of_a_prompt = max(self.most_of_a_prompt, self.of_prompt[draw.prompt.id])

    def step(self) -> list[Response]:
        self.steps += 1
        finished = []
        for draw in self._ending():
            kind = self.law(draw)
            if kind == "E" and finished:
                break  # the next step tells of it
            self._forget(draw)
            if kind == "E":
                raise ResponseError(draw.prompt.id, draw.index, "log-prob nan")
            finished.append(response_of(draw, kind, self.weight_version))
        return finished

    def _ending(self) -> list[Draw]:
        if self.order == "started":
            return [next(iter(self.running.values()))]
        draws = list(self.running.values())
        if isinstance(self.order, list):
            return draws[: self.order[self.steps - 1]]
        return draws if self.order == "together" else self.dice.sample(draws, self.dice.randint(0, len(draws)))

    def _forget(self, draw: Draw) -> bool:
        found = self.running.pop((draw.prompt.id, draw.index), None) is not None
        self.of_prompt[draw.prompt.id] -= found
        return found

    def abort(self, draws: Iterable[Draw]) -> int:
        """Each has had three tokens."""
        ended = [draw for draw in list(draws) if self._forget(draw)]
        self.aborted += ended
        return 3 * len(ended)

    def interrupt(self, draws: Iterable[Draw]) -> list[Draw]:
        """Each has had one token, unless that were its last."""
        resting = [self._begun(draw) for draw in list(draws) if self._forget(draw)]
        self.interrupted += resting
        return resting

    def _begun(self, draw: Draw) -> Draw:
        if (kind := self.law(draw)) == "E":
            return draw
        whole, written = response_of(draw, kind), len(draw.begun) + 1
        if written == len(whole.token_ids):
            return draw
        versions = (*draw.begun.versions, (self.weight_version, 1))
        return replace(draw, begun=Written(whole.token_ids[:written], whole.logprobs[:written], versions))


class StandInRewards:
    """Like RewardService, a key may not be submitted again while its verdict is due; `order` as above."""

    asks_about_cut_off = False

    def __init__(self, order: str | int = "started"):
        self.order = order
        self.dice = random.Random(order)
        self.pending: dict[Hashable, str] = {}

    def submit(self, key: Hashable, text: str, answer: str, facts: object = None) -> None:
        assert key not in self.pending
        self.pending[key] = text

    def poll(self, wait_seconds: float = 0.0) -> list[tuple[Hashable, Verdict]]:
        keys = list(self.pending)
        if isinstance(self.order, int):
            keys = self.dice.sample(keys, self.dice.randint(1 if wait_seconds else 0, len(keys)) if keys else 0)
        elif self.order == "started":
            keys = keys[:1]
        return [(key, verdict_of(self.pending.pop(key))) for key in keys]


def verdict_of(text: str) -> Verdict:
    if text[0] == "T":
        return Verdict(0.0, False, "timeout")
    return Verdict(float(text[0] == "R"), text[0] == "R", None, {"length": float(len(text))})


def decode(token_ids: tuple[int, ...]) -> str:
    return KINDS[token_ids[0]] + " ".join(map(str, token_ids[1:]))


def collector(
    engine: StandInEngine, rewards: StandInRewards, max_concurrent: int = 16, should_stop: Callable[[], bool] = lambda: False
) -> Collector:
    return Collector(engine, rewards, decode, Ranks(), seed=7, max_concurrent=max_concurrent, should_stop=should_stop)  # type: ignore[arg-type]


def one_after_the_other(law: Law, schedule: Schedule, name: str, asked: list[Prompt], beliefs: list, refill=lambda pools: ()) -> list[Pool]:
    """What the collector must come to, written the plain way: one draw at a time, scored before the next one starts."""
    pools: list[Pool] = []
    fresh = list(zip(asked, beliefs, strict=True))
    while True:
        pools += [Pool(prompt, belief, seed=seed_of(7, "pool", name, prompt.id)) for prompt, belief in fresh]
        grown = False
        for pool, budget in zip(pools, schedule.budgets(pools), strict=True):
            if pool.outcome is None and budget > pool.budget:
                pool.budget, grown = budget, True
        if not grown:
            break
        for pool in pools:
            while pool.outcome is None and pool.drawn < pool.budget:
                pool.attempts.append(attempt_of(law, Draw(pool.prompt, pool.drawn, seed_of(7, "draw", name, pool.prompt.id, pool.drawn))))
                if pool.drawn % schedule.check_every == 0 or pool.drawn == pool.budget:
                    pool.rounds += 1
                    pool.outcome = schedule.stop(pool)
        fresh = [(prompt, None) for prompt in refill(pools)]
    for pool in pools:
        pool.outcome = pool.outcome or "exhausted"
    return pools


def attempt_of(law: Law, draw: Draw) -> Attempt:
    kind = law(draw)
    if kind == "E":
        return Attempt(Response(draw.prompt.id, draw.index, (), (), "stop", 3), "", 0.0, right=False, failure="engine")
    response = response_of(draw, kind)
    text = decode(response.token_ids)
    if kind == "C":
        return Attempt(response, text, 0.0, right=False)
    verdict = verdict_of(text)
    return Attempt(response, text, verdict.reward, verdict.right, verdict.failure, verdict.parts)
