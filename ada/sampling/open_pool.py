"""One prompt while it is being sampled: which draw may start, what a finished one means. Decides only; nothing is drawn here."""

from __future__ import annotations

from dataclasses import dataclass, field

from ada.contracts import Schedule
from ada.sampling.windows import Window
from ada.types import Attempt, Draw, Pool


@dataclass(slots=True)
class OpenPool:
    """Draws run out of order and are read in order: the stop rule sees the longest finished prefix, every `check_every` draws.

    A draw may start up to `width` draws beyond the last look, and `width` of them run at once. width = check_every is the paper's
    rounds; a larger one speculates, and what lies beyond the draw that resolves the prompt leaves no trace in the pool.
    """

    pool: Pool
    position: int  # of the prompt in the step
    schedule: Schedule
    window: Window
    launched: int = 0
    looked: int = 0  # draws that the stop rule has seen
    running: dict[int, Draw] = field(default_factory=dict)  # in the engine
    finished: dict[int, Attempt] = field(default_factory=dict)  # scored, waiting for an earlier draw
    width: int = field(init=False)  # draws, as the window says since the last look

    def __post_init__(self) -> None:
        self.width = self.window(self.pool)

    @property
    def closed(self) -> bool:
        return self.pool.outcome is not None

    @property
    def spent(self) -> bool:
        """Its budget is used up without an outcome: only a larger budget opens it again."""
        return not self.closed and self.pool.drawn >= self.pool.budget

    def may_launch(self) -> bool:
        reach = self.looked + max(self.width, self.schedule.check_every)
        return not self.closed and self.launched < min(self.pool.budget, reach) and len(self.running) < self.width

    def launch(self, seed: int) -> Draw:
        draw = Draw(self.pool.prompt, self.launched, seed)
        self.running[draw.index] = draw
        self.launched += 1
        return draw

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
