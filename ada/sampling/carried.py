"""A prompt at rest: all that is known of it between two steps, as plain data that any rank can go on from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import TypeAdapter

from ada.types import Attempt, Pool, Response, Written


@dataclass(frozen=True, slots=True)
class Carried:
    """Each draw that was started is in one place: scored and read (in the pool), scored, waiting for its verdict, or begun.

    Raises RuntimeError where one is not, or is in two.
    """

    name: str  # of the collection that opened it: its draws' seeds keep it
    pool: Pool
    place: int = 0  # among those that were opened with it
    finished: tuple[Attempt, ...] = ()  # waiting for an earlier draw
    unscored: tuple[Response, ...] = ()
    begun: Mapping[int, Written] = field(default_factory=dict)  # by the draw's index

    def __post_init__(self) -> None:
        found = [*_draws(self.pool.attempts), *sorted([*_draws(self.finished), *(r.draw for r in self.unscored), *self.begun])]
        if found != list(range(len(found))):
            raise RuntimeError(
                f"prompt {self.pool.prompt.id} has draws {found}: some were lost or counted twice. This is a fault of ada: please report it"
            )

    @property
    def started(self) -> int:
        """Draws."""
        return self.pool.drawn + len(self.finished) + len(self.unscored) + len(self.begun)

    @property
    def oldest_version(self) -> int | None:
        """Of the weights that wrote its tokens; None where there are none."""
        responses = [*(a.response for a in (*self.pool.attempts, *self.finished)), *self.unscored]
        spans = [*(response.versions for response in responses), *(written.versions for written in self.begun.values())]
        return min((versions[0][0] for versions in spans if versions), default=None)


def _draws(attempts: Sequence[Attempt]) -> list[int]:
    return [attempt.response.draw for attempt in attempts]


_PLAIN = TypeAdapter(list[Carried])


def to_plain(carried: Sequence[Carried]) -> list[dict[str, Any]]:
    return _PLAIN.dump_python(list(carried))  # type: ignore[no-any-return]


def from_plain(rows: Sequence[Mapping[str, Any]]) -> list[Carried]:
    return _PLAIN.validate_python(rows)
