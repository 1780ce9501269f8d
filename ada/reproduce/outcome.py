"""What a run came to: held-out accuracy against what it had spent, and its training metrics step by step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ada.report.record import Row, read_run
from ada.reproduce.experiment import Axis

ACCURACY = "eval/heldout/avg@8"


@dataclass(frozen=True)
class Outcome:
    """E evaluations, step 0 first; S steps."""

    method: str
    seed: int
    spent_E: dict[Axis, np.ndarray]  # of training, without evaluation
    accuracy_E: np.ndarray
    pass_at_k: tuple[float, float]  # held-out pass@8 before and after
    steps: list[Row]

    def accuracy_at(self, axis: Axis, budget: float) -> float:
        """Linear between evaluations. Raises ValueError past the last one: nothing is extrapolated."""
        if budget > self.spent_E[axis][-1]:
            raise ValueError(f"{self.method}, seed {self.seed}: trained for {self.spent_E[axis][-1]:g} {axis}, less than {budget:g}")
        return float(np.interp(budget, self.spent_E[axis], self.accuracy_E))

    def series_S(self, metric: str) -> np.ndarray:
        return np.array([row.get(metric) if row.get(metric) is not None else np.nan for row in self.steps], float)


def read_outcome(path: Path, method: str, seed: int) -> Outcome:
    rows = read_run(path).steps
    trained = [row for row in rows if row["step"] > 0]
    evaluated = [row for row in rows if ACCURACY in row]
    seconds = dict(zip([0, *(row["step"] for row in trained)], np.cumsum([0.0, *(row["time/cpu"] for row in trained)]), strict=True))
    spent: dict[Axis, np.ndarray] = {
        "updates": np.array([row["step"] for row in evaluated], float),
        "responses": np.array([row.get("total/responses", 0) for row in evaluated], float),
        "tokens": np.array([row.get("total/generated_tokens", 0) for row in evaluated], float),
        "seconds": np.array([seconds[row["step"]] for row in evaluated]),
    }
    accuracy = np.array([row[ACCURACY] for row in evaluated], float)
    ends = [evaluated[place]["eval/heldout/pass@8"] for place in (0, -1)]
    return Outcome(method, seed, spent, accuracy, (ends[0], ends[1]), trained)


def common_budget(outcomes: Sequence[Outcome], axis: Axis) -> float:
    """The most that every run has spent."""
    return min(float(outcome.spent_E[axis][-1]) for outcome in outcomes)
