"""What an evaluation keeps of a problem: a verdict and a length for each response, and a few texts to look at."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from ada.types import Attempt, Pool

RIGHT, WRONG, TRUNCATED, UNKNOWN = "RWTU"


@dataclass(frozen=True, slots=True)
class Row:
    id: str  # of the prompt: "<set>/<row id>"
    verdicts: str  # a letter a draw: R right, W wrong, T cut off by its token budget, U without a verdict; the last three are not right
    tokens: tuple[int, ...]  # of each response
    failures: Mapping[str, int] = field(default_factory=dict)  # why there is no verdict, and how often
    responses: tuple[str, ...] = ()  # texts of the first draws

    @property
    def right(self) -> int:
        return self.verdicts.count(RIGHT)

    @classmethod
    def of(cls, pool: Pool, texts: int) -> Row:
        return cls(
            id=pool.prompt.id,
            verdicts="".join(_verdict(attempt) for attempt in pool.attempts),
            tokens=tuple(len(attempt.response.token_ids) for attempt in pool.attempts),
            failures=Counter(attempt.failure for attempt in pool.attempts if attempt.failure is not None),
            responses=tuple(attempt.text for attempt in pool.attempts[:texts]),
        )

    @classmethod
    def from_json(cls, values: Mapping[str, object]) -> Row:
        return cls(**{**values, "tokens": tuple(values["tokens"]), "responses": tuple(values["responses"])})  # type: ignore[arg-type]

    def to_json(self) -> dict[str, object]:
        return dataclasses.asdict(self)


def _verdict(attempt: Attempt) -> str:
    if attempt.failure is not None:
        return UNKNOWN
    if attempt.response.finish_reason == "length":
        return TRUNCATED
    return RIGHT if attempt.right else WRONG
