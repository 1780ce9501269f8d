"""Collects a step's pools over all ranks, wave after wave: its prompts, then those that a refill or a larger budget adds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from ada.contracts import Engine, Schedule
from ada.ranks import Ranks
from ada.rewards.service import RewardService
from ada.sampling.carried import Carried
from ada.sampling.collection import Collection, Cost
from ada.sampling.punctual import Punctual
from ada.sampling.seeds import seed_of
from ada.sampling.windows import Window, fixed
from ada.types import PassRate, Pool, Prompt

T = TypeVar("T")


class Stopped(BaseException):
    """The run was asked to stop while it was collecting; all ranks raise it together. Like KeyboardInterrupt, no error of the program."""


class Collector:
    def __init__(
        self,
        engine: Engine,
        rewards: RewardService,
        decode: Callable[[tuple[int, ...]], str],
        ranks: Ranks,
        *,
        seed: int,
        max_concurrent: int,
        should_stop: Callable[[], bool] = lambda: False,
        collection: Callable[..., Collection] = Collection,
    ):
        """`collection` makes this rank's share of each collection."""
        self.engine, self.rewards, self.decode, self.ranks = engine, rewards, decode, ranks
        self.seed, self.max_concurrent, self.should_stop = seed, max_concurrent, should_stop
        self.collection = collection

    def collect(
        self,
        name: str,
        prompts: Sequence[Prompt],
        schedule: Schedule,
        *,
        window: Window | None = None,
        believe: Callable[[Sequence[Prompt]], Sequence[PassRate | None]] = lambda prompts: [None] * len(prompts),
        refill: Callable[[Sequence[Pool]], Sequence[Prompt]] = lambda pools: (),
        closed: Callable[[Pool], None] = lambda pool: None,
    ) -> tuple[list[Pool], Cost]:
        """Every prompt's pool, in the order of the prompts, the same on every rank. Collective.

        `name` (for example "step-7") is the part of the draws' seeds that tells this collection from others. `refill` is shown the
        finished pools and names the prompts to sample beside them, until it names none. `closed` is shown each pool that gets an outcome,
        on the rank that drew it.
        """
        pools: list[Pool] = []
        work = self._collection(self.rewards, schedule, window, closed=closed)
        while prompts or _allot(schedule, pools):
            pools += [self.pool(name, prompt, belief) for prompt, belief in zip(prompts, believe(prompts), strict=True)]
            _allot(schedule, pools)
            work.open_wave([Carried(name, pool) for pool in pools])
            work.run()
            pools = [pool for _, pool in sorted(self._of_all_ranks(work.own_pools()).items())]
            prompts = refill(pools)
        for pool in pools:
            pool.outcome = pool.outcome or "exhausted"
        return pools, Cost.of(self.ranks.gather(work.cost))

    def carry_on(
        self,
        prompts: Sequence[Carried],
        schedule: Schedule,
        *,
        window: Window | None,
        enough: int,
        verdict_after: int | None = None,
    ) -> tuple[list[Carried], list[int], Cost]:
        """Goes on with open prompts until `enough` of them have an outcome. All as they stand then, the same on every rank, and the places
        of those with an outcome in the order in which they got it; several ranks may give some more than enough. Collective.

        For schedules that look at each prompt alone. `verdict_after`: see Punctual.
        """
        _allot(schedule, [prompt.pool for prompt in prompts])
        rewards = self.rewards if verdict_after is None else Punctual(self.rewards, verdict_after)
        work = self._collection(rewards, schedule, window, enough=enough)
        work.open_wave(prompts)
        work.run()
        drawn, places = self._of_all_ranks(work.own_prompts()), self._of_all_ranks(work.places)
        cost = Cost.of(self.ranks.gather(work.cost))
        return [drawn.get(i, prompt) for i, prompt in enumerate(prompts)], sorted(places, key=places.__getitem__), cost

    def pool(self, name: str, prompt: Prompt, belief: PassRate | None) -> Pool:
        """A new one, of the collection `name`."""
        return Pool(prompt, belief=belief, seed=seed_of(self.seed, "pool", name, prompt.id))

    def _collection(
        self,
        rewards: RewardService | Punctual,
        schedule: Schedule,
        window: Window | None,
        *,
        enough: int | None = None,
        closed: Callable[[Pool], None] = lambda pool: None,
    ) -> Collection:
        return self.collection(
            self.engine,
            rewards,
            self.decode,
            self.ranks,
            number=next(self.ranks.collections),
            schedule=schedule,
            window=window or fixed(schedule.check_every),
            seed=self.seed,
            slots=self.max_concurrent,
            enough=enough,
            should_stop=self.should_stop,
            closed=closed,
        )

    def _of_all_ranks(self, own: dict[int, T]) -> dict[int, T]:
        """By position. Raises Stopped on all ranks where one of them was asked to stop. Collective."""
        shares = self.ranks.gather((own, self.should_stop()))
        if any(stop for _, stop in shares):
            raise Stopped
        return {position: item for found, _ in shares for position, item in found.items()}


def _allot(schedule: Schedule, pools: Sequence[Pool]) -> bool:
    """Writes the schedule's budgets into the pools that have no outcome yet; True where one of them grew."""
    grew = False
    for pool, budget in zip(pools, schedule.budgets(pools), strict=True):
        if pool.outcome is None and budget > pool.budget:
            pool.budget, grew = budget, True
    return grew
