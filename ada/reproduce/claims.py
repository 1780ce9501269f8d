"""What the paper says of the methods, and whether these runs agree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from ada.reproduce.comparison import Difference, difference
from ada.reproduce.outcome import Axis, Outcome

LEVEL = 0.05  # of the paired test


@dataclass(frozen=True)
class Claim:
    text: str
    better: str
    worse: str
    axis: Axis


CLAIMS = (
    Claim("Seq-balance learns more than GRPO-n4 per update", "Seq-balance", "GRPO-n4", "updates"),
    Claim("Seq-pos learns more than GRPO-n4 per update", "Seq-pos", "GRPO-n4", "updates"),
    Claim("Seq-balance learns more than Seq-pos per update", "Seq-balance", "Seq-pos", "updates"),
    Claim("Est-EMA learns more than GRPO-n8, which draws as much, per update", "Est-EMA", "GRPO-n8", "updates"),
    Claim("Seq-balance reaches GRPO-n16's level or more per update", "Seq-balance", "GRPO-n16", "updates"),
    Claim("DAPO learns more than GRPO-n4 per update", "DAPO-n4", "GRPO-n4", "updates"),
    Claim("Seq-balance learns more than GRPO-n4 per generated token", "Seq-balance", "GRPO-n4", "tokens"),
    Claim("Seq-balance learns more than GRPO-n16 per generated token", "Seq-balance", "GRPO-n16", "tokens"),
    Claim("Seq-balance learns more than GRPO-n4 per CPU second", "Seq-balance", "GRPO-n4", "seconds"),
)

Verdict = Literal["holds", "does not hold: the other way round", "not decided"]


@dataclass(frozen=True)
class Judged:
    claim: Claim
    difference: Difference
    verdict: Verdict


def judge(outcomes: Sequence[Outcome], budgets: Mapping[Axis, float]) -> list[Judged]:
    """Of the claims whose methods have two seeds in common."""
    judged = []
    for claim in CLAIMS:
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
