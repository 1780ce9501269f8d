"""One prompt while it is being sampled: which draw may start, what a finished one means. Decides only; nothing is drawn here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ada.contracts import Schedule
from ada.sampling.carried import Carried
from ada.sampling.seeds import seed_of
from ada.sampling.windows import Window
from ada.types import Attempt, Draw, Pool, Response, Written


@dataclass(slots=True)
class OpenPool:
    """Draws run out of order and are read in order: the stop rule sees the longest finished prefix, every `check_every` draws.

    A draw may start up to `width` draws beyond the last look, and `width` of them run at once. width = check_every is the paper's
    rounds; a larger one speculates, and what lies beyond the draw that resolves the prompt leaves no trace in the pool.
    """

    name: str  # of the collection that opened it
    pool: Pool
    position: int  # of the prompt in the step
    place: int  # among the prompts that were opened with it
    schedule: Schedule
    window: Window
    launched: int = 0
    looked: int = 0  # draws that the stop rule has seen
    running: dict[int, Draw] = field(default_factory=dict)  # in the engine
    resting: dict[int, Written] = field(default_factory=dict)  # launched before, and interrupted
    finished: dict[int, Attempt] = field(default_factory=dict)  # scored, waiting for an earlier draw
    width: int = field(init=False)  # draws, as the window says since the last look

    def __post_init__(self) -> None:
        self.width = self.window(self.pool)

    @classmethod
    def of(cls, carried: Carried, position: int, schedule: Schedule, window: Window) -> OpenPool:
        """As it was when it came to rest; its unscored responses are to be scored again."""
        return cls(
            carried.name,
            carried.pool,
            position,
            carried.place,
            schedule,
            window,
            launched=carried.started,
            looked=carried.pool.drawn // schedule.check_every * schedule.check_every,
            resting=dict(carried.begun),
            finished={attempt.response.draw: attempt for attempt in carried.finished},
        )

    def at_rest(self, unscored: Sequence[Response]) -> Carried:
        """Nothing of it may run."""
        finished = tuple(self.finished[draw] for draw in sorted(self.finished))
        unscored = tuple(sorted(unscored, key=lambda response: response.draw))
        return Carried(self.name, self.pool, self.place, finished, unscored, dict(sorted(self.resting.items())))

    @property
    def closed(self) -> bool:
        return self.pool.outcome is not None

    @property
    def spent(self) -> bool:
        """Its budget is used up without an outcome: only a larger budget opens it again."""
        return not self.closed and self.pool.drawn >= self.pool.budget

    def may_launch(self) -> bool:
        if self.closed or len(self.running) >= self.width:
            return False
        reach = self.looked + max(self.width, self.schedule.check_every)
        return bool(self.resting) or self.launched < min(self.pool.budget, reach)

    def launch(self, run_seed: int) -> Draw:
        """The next draw; those that were interrupted come first."""
        if self.resting:
            index = min(self.resting)
            begun = self.resting.pop(index)
        else:
            index, begun = self.launched, Written()
            self.launched += 1
        prompt = self.pool.prompt
        self.running[index] = Draw(prompt, index, seed_of(run_seed, "draw", self.name, prompt.id, index), begun)
        return self.running[index]

    def interrupted(self, draw: Draw) -> None:
        del self.running[draw.index]
        self.resting[draw.index] = draw.begun

    def settle(self, attempt: Attempt) -> None:
        """Takes a scored attempt; closes the pool where the prefix that is now complete says so."""
        self.finished[attempt.response.draw] = attempt
        while not self.closed and self.pool.drawn in self.finished:
            self.pool.attempts.append(self.finished.pop(self.pool.drawn))
            if self.pool.drawn % self.schedule.check_every == 0 or self.pool.drawn == self.pool.budget:
                self.looked = self.pool.drawn
                self.pool.rounds += 1
                self.pool.outcome = self.schedule.stop(self.pool)
                self.width = self.window(self.pool)
