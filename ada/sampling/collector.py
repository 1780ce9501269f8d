"""Collects a step's pools over all ranks, wave after wave: its prompts, then those that a refill or a larger budget adds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count

from ada.contracts import Engine, Schedule
from ada.ranks import Ranks
from ada.rewards.service import RewardService
from ada.sampling.collection import Collection, Cost
from ada.sampling.seeds import seed_of
from ada.sampling.windows import Window, fixed
from ada.types import PassRate, Pool, Prompt


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
        self.numbers = count()  # of collections, alike on all ranks

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
        work = self.collection(
            self.engine,
            self.rewards,
            self.decode,
            self.ranks,
            name=name,
            number=next(self.numbers),
            schedule=schedule,
            window=window or fixed(schedule.check_every),
            seed=self.seed,
            slots=self.max_concurrent,
            should_stop=self.should_stop,
            closed=closed,
        )
        while prompts or _allot(schedule, pools):
            pools += [
                Pool(prompt, belief=belief, seed=seed_of(self.seed, "pool", name, prompt.id))
                for prompt, belief in zip(prompts, believe(prompts), strict=True)
            ]
            _allot(schedule, pools)
            work.open_wave(pools)
            work.run()
            shares = self.ranks.gather((work.own_pools(), self.should_stop()))
            if any(stop for _, stop in shares):
                work.abandon()
                raise Stopped
            pools = [pool for _, pool in sorted(((i, p) for own, _ in shares for i, p in own.items()), key=lambda item: item[0])]
            prompts = refill(pools)
        for pool in pools:
            pool.outcome = pool.outcome or "exhausted"
        return pools, Cost.of(self.ranks.gather(work.cost))


def _allot(schedule: Schedule, pools: Sequence[Pool]) -> bool:
    """Writes the schedule's budgets into the pools that have no outcome yet; True where one of them grew."""
    grew = False
    for pool, budget in zip(pools, schedule.budgets(pools), strict=True):
        if pool.outcome is None and budget > pool.budget:
            pool.budget, grew = budget, True
    return grew
