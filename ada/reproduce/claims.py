"""What is said of the methods, and whether these runs agree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from ada.reproduce.comparison import Difference, difference
from ada.reproduce.experiment import Axis, Claim
from ada.reproduce.outcome import Outcome

LEVEL = 0.05  # of the paired test


Verdict = Literal["holds", "does not hold: the other way round", "not decided"]


@dataclass(frozen=True)
class Judged:
    claim: Claim
    difference: Difference
    verdict: Verdict


def judge(claims: Sequence[Claim], outcomes: Sequence[Outcome], budgets: Mapping[Axis, float]) -> list[Judged]:
    """Of the claims whose methods have two seeds in common."""
    judged = []
    for claim in claims:
        one, other = (
            {o.seed: o.accuracy_at(claim.axis, budgets[claim.axis]) for o in outcomes if o.method == name}
            for name in (claim.better, claim.worse)
        )
        found = difference(one, other)
        if found:
            judged.append(Judged(claim, found, verdict(found)))
    return judged


def verdict(found: Difference) -> Verdict:
    if not found.p < LEVEL:  # NaN where all pairs differ by the same
        return "not decided"
    return "holds" if found.mean > 0 else "does not hold: the other way round"
