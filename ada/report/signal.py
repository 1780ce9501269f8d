"""Where a run's budget went: prompts with something to learn from, those that further draws won, and what these cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from ada.report.record import Row, RunRecord

BASELINE = 4  # draws of GRPO-n4

KINDS = ("early", "recovered", "all_right", "all_wrong", "unknown")
"""Of a prompt in a step. early: both outcomes are among its first 4 draws. recovered: they are in its pool, and were not in its first 4.
all_right, all_wrong: one outcome only. unknown: no draw has a verdict."""


@dataclass
class Signal:
    steps: list[int] = field(default_factory=list)
    shares: dict[str, list[float]] = field(default_factory=lambda: {kind: [] for kind in KINDS})  # of the step's prompts, by step
    counts: Counter[str] = field(default_factory=Counter)  # over the run, by kind
    draws: Counter[tuple[int, str]] = field(default_factory=Counter)  # pools by (draws, outcome)
    extra_draws: int = 0  # beyond the first 4 of each prompt, those beyond a resolving draw included

    @property
    def prompts(self) -> int:
        return self.counts.total()

    def share(self, kind: str) -> float | None:
        return self.counts[kind] / self.prompts if self.prompts else None

    @property
    def cost(self) -> float | None:
        """Draws beyond the first 4, over all prompts, per recovered prompt; None where none was recovered."""
        return self.extra_draws / self.counts["recovered"] if self.counts["recovered"] else None

    @property
    def mean_draws(self) -> float | None:
        return sum(drawn * count for (drawn, _), count in self.draws.items()) / self.prompts if self.prompts else None


def signal(run: RunRecord) -> Signal:
    found = Signal(extra_draws=int(sum(row.get("sampling/surplus_draws") or 0 for row in run.trained)))
    for row in run.pools:
        kinds: Counter[str] = Counter()
        for verdicts, outcome in zip(row["verdicts"], row["outcomes"], strict=True):
            kinds[kind_of(verdicts)] += 1
            found.draws[len(verdicts), outcome or "open"] += 1
            found.extra_draws += max(0, len(verdicts) - BASELINE)
        found.counts += kinds
        found.steps.append(row["step"])
        for kind in KINDS:
            found.shares[kind].append(kinds[kind] / max(kinds.total(), 1))
    return found


def kind_of(verdicts: str) -> str:
    """`verdicts`: R, W and F, by draw."""
    if _both(verdicts[:BASELINE]):
        return "early"
    if _both(verdicts):
        return "recovered"
    return "all_right" if "R" in verdicts else "all_wrong" if "W" in verdicts else "unknown"


def _both(verdicts: str) -> bool:
    return "R" in verdicts and "W" in verdicts


def pools(row: Row) -> Iterator[tuple[str, str, float | None]]:
    """Prompt id, verdicts and belief of each pool of a step."""
    yield from zip(row["prompts"], row["verdicts"], row["beliefs"], strict=True)
