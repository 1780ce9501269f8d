"""One rank's share of a collection: one event loop over the engine, without a barrier between rounds or prompts.

A finished response goes to the reward workers at once, and its prompt is looked at alone; freed slots go to open prompts first,
then to prompts claimed from the counter that all ranks share. Who is in a pool depends on the draws' indices and seeds only, never
on what finished first: it is the pool that strictly sequential sampling gives.

A collection that asks for `enough` prompts ends when so many, over all ranks, have an outcome: what runs is interrupted, and the others can
be carried on in another one.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil

from ada.contracts import Engine, Schedule
from ada.engine.errors import ResponseError
from ada.ranks import Ranks
from ada.rewards.functions import Facts
from ada.rewards.service import RewardService
from ada.sampling.carried import Carried
from ada.sampling.open_pool import OpenPool
from ada.sampling.punctual import Punctual
from ada.sampling.windows import Window
from ada.types import Attempt, Pool, Response

log = logging.getLogger(__name__)


@dataclass(slots=True)
class Cost:
    """What collecting cost, summed over ranks; seconds are the slowest rank's."""

    seconds: float = 0.0
    reward_seconds: float = 0.0  # the engine had nothing to do and the reward workers had
    generated_tokens: int = 0  # of all draws, those beyond a resolving prefix included
    aborted_tokens: int = 0  # of those, what draws had when they were ended
    surplus: int = 0  # draws started beyond a resolving prefix, or for a prompt that was dropped

    @staticmethod
    def of(costs: Sequence[Cost]) -> Cost:
        return Cost(
            max(c.seconds for c in costs),
            max(c.reward_seconds for c in costs),
            sum(c.generated_tokens for c in costs),
            sum(c.aborted_tokens for c in costs),
            sum(c.surplus for c in costs),
        )


class Collection:
    def __init__(
        self,
        engine: Engine,
        rewards: RewardService | Punctual,
        decode: Callable[[tuple[int, ...]], str],
        ranks: Ranks,
        *,
        number: int,
        schedule: Schedule,
        window: Window,
        seed: int,
        slots: int,
        enough: int | None = None,
        should_stop: Callable[[], bool] = lambda: False,
        closed: Callable[[Pool], None] = lambda pool: None,
    ):
        """`number`: of the collection in the run, the same on all ranks. `slots`: draws at once. `enough` None: every prompt."""
        self.engine, self.rewards, self.decode, self.ranks = engine, rewards, decode, ranks
        self.number, self.schedule, self.window, self.enough = number, schedule, window, enough
        self.seed, self.slots, self.should_stop, self.closed = seed, slots, should_stop, closed
        self.prompts: Sequence[Carried] = ()  # of all ranks; those from `first` on are up for claim
        self.first = self.share = 0
        self.mine: dict[int, OpenPool] = {}  # by position in the collection
        self.by_id: dict[str, OpenPool] = {}
        self.ready: deque[OpenPool] = deque()  # may launch a draw
        self.open = 0  # neither closed nor out of budget
        self.running = 0  # draws in the engine
        self.scoring: dict[tuple[int, int, int], tuple[Response, str]] = {}  # at the reward workers, by _key
        self.all_claimed = True
        self.places: dict[int, int] = {}  # in the order in which prompts got an outcome, over all ranks; by position. Only with `enough`
        self.cost = Cost()

    def open_wave(self, prompts: Sequence[Carried]) -> None:
        """Puts the new ones among the prompts of all ranks up for claim, and goes on with its own whose budget has grown."""
        for position, open_pool in self.mine.items():
            open_pool.pool = prompts[position].pool
            if not open_pool.closed and not open_pool.spent:
                self.open += 1
                self.ready.append(open_pool)
        self.first, self.prompts = len(self.prompts), prompts
        new, engines = len(prompts) - self.first, self.ranks.world // self.engine.ranks
        self.share = ceil(new / engines)  # open at once: the first rank to come must not take all
        self.all_claimed = self.first == len(prompts)

    def run(self) -> None:
        """Until nothing is left to do. Called by every rank; where several hold one engine, the first of them does the work."""
        self.engine.drive(self._run, turn=self.should_stop)

    def _run(self) -> None:
        started = time.perf_counter()
        while not self.should_stop() and self.advance():
            pass
        self.interrupt()
        self.cost.seconds += time.perf_counter() - started

    def advance(self) -> bool:
        """One turn of the loop: starts what may start, decodes once, takes the verdicts that came. False where nothing is left to do."""
        if self.enough is not None and self.ranks.claimed(self._closings) >= self.enough:
            return False
        self._launch()
        if self.running:
            self._step()
            self._score(0.0)
        elif self.scoring:  # nothing can be launched before a verdict comes
            waiting = time.perf_counter()
            self._score(1.0)
            self.cost.reward_seconds += time.perf_counter() - waiting
        else:
            return False
        return True

    def _step(self) -> None:
        try:
            for response in self.engine.step():
                self._finished(response)
        except ResponseError as error:  # one draw is unusable; the others come with the next step
            self._failed(error)

    def _score(self, wait_seconds: float) -> None:
        for key, verdict in self.rewards.poll(wait_seconds):
            if key in self.scoring:  # else a draw beyond the prefix that resolved its prompt, perhaps an earlier collection's
                response, text = self.scoring.pop(key)
                attempt = Attempt(response, text, verdict.reward, verdict.right, verdict.failure, verdict.parts, verdict.counts_wrong)
                self._settle(self.by_id[response.prompt_id], attempt)

    def _launch(self) -> None:
        while self.running < self.slots:
            if not self.ready and not self._claim():
                return
            pool = self.ready[0]
            if not pool.may_launch():
                self.ready.popleft()
                continue
            self.engine.submit(pool.launch(self.seed))
            self.running += 1

    def _claim(self) -> bool:
        if self.all_claimed or self.open >= self.share:
            return False
        position = self.first + self.ranks.claim(f"{self.number}/{self.first}")
        if position >= len(self.prompts):
            self.all_claimed = True
            return False
        pool = OpenPool.of(self.prompts[position], position, self.schedule, self.window)
        self.mine[position] = self.by_id[pool.pool.prompt.id] = pool
        self.open += 1
        self.ready.append(pool)
        for response in self.prompts[position].unscored:
            self._ask(pool, response)
        return True

    def _failed(self, error: ResponseError) -> None:
        log.warning("%s", error)
        pool = self.by_id[error.prompt_id]
        del pool.running[error.draw]
        self.running -= 1
        nothing = Response(error.prompt_id, error.draw, (), (), "stop", self.engine.weight_version)
        self._settle(pool, Attempt(nothing, "", 0.0, right=False, failure="engine"))

    def _finished(self, response: Response) -> None:
        pool = self.by_id[response.prompt_id]
        self.cost.generated_tokens += response.versions[-1][1]  # what came before an interruption was counted then
        if pool.running.pop(response.draw, None) is None:
            return  # one that ended in the same step resolved the prompt without it
        self.running -= 1
        if response.finish_reason == "length" and not self.rewards.asks_about_cut_off:  # wrong, whatever it says so far
            self._settle(pool, Attempt(response, self.decode(response.token_ids), 0.0, right=False))
            return
        self._ask(pool, response)
        if pool.may_launch():  # a window smaller than a round has room again, before the verdict
            self.ready.append(pool)

    def _ask(self, pool: OpenPool, response: Response) -> None:
        """For its verdict."""
        prompt, key, text = pool.pool.prompt, self._key(pool, response.draw), self.decode(response.token_ids)
        self.scoring[key] = response, text
        cut_off = response.finish_reason == "length"
        self.rewards.submit(key, text, prompt.answer, Facts(prompt.text, len(response.token_ids), cut_off))

    def _key(self, pool: OpenPool, draw: int) -> tuple[int, int, int]:
        """Names a draw for as long as the run goes on: reward workers may still have one when its collection is over."""
        return self.number, pool.position, draw

    def _settle(self, pool: OpenPool, attempt: Attempt) -> None:
        pool.settle(attempt)
        if pool.closed or pool.spent:
            self.open -= 1
            self._drop_surplus(pool)
            if pool.closed:
                if self.enough is not None:
                    self.places[pool.position] = self.ranks.claim(self._closings)
                self.closed(pool.pool)
        elif pool.may_launch():
            self.ready.append(pool)

    def _drop_surplus(self, pool: OpenPool) -> None:
        if pool.running:
            aborted = self.engine.abort(pool.running.values())
            self.cost.generated_tokens += aborted
            self.cost.aborted_tokens += aborted
            self.running -= len(pool.running)
            pool.running.clear()
        for draw in range(pool.pool.drawn, pool.launched):
            self.scoring.pop(self._key(pool, draw), None)
            self.cost.surplus += 1
        pool.finished.clear()
        pool.resting.clear()

    def interrupt(self) -> None:
        """Nothing runs afterwards. Where all prompts are through, nothing does before."""
        running = [draw for pool in self.mine.values() for draw in pool.running.values()]
        for draw in self.engine.interrupt(running) if running else ():
            pool = self.by_id[draw.prompt.id]
            self.cost.generated_tokens += len(draw.begun) - len(pool.running[draw.index].begun)
            pool.interrupted(draw)
        self.running = 0

    @property
    def _closings(self) -> str:
        return f"{self.number}/closed"

    def own_prompts(self) -> dict[int, Carried]:
        """By position, as they stand. Nothing may run."""
        unscored: dict[int, list[Response]] = {position: [] for position in self.mine}
        for (_, position, _), (response, _) in self.scoring.items():
            unscored[position].append(response)
        return {position: open_pool.at_rest(unscored[position]) for position, open_pool in self.mine.items()}

    def own_pools(self) -> dict[int, Pool]:
        return {position: open_pool.pool for position, open_pool in self.mine.items()}
