"""The policy of the laboratory: one prompt, a softmax over five arms of which two are right, with parameters of its own."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

RIGHT = np.array([2 / 3, 1 / 3, 0, 0, 0])  # the arms' law among right answers
WRONG = np.array([0, 0, 1 / 2, 1 / 3, 1 / 6])  # and among wrong ones
ARMS = len(RIGHT)


def is_right(arm: int) -> bool:
    return bool(RIGHT[arm] > 0)


@dataclass(frozen=True)
class Bandit:
    pass_rate: float

    @property
    def law_A(self) -> Floats:
        """Probability of each arm."""
        return self.pass_rate * RIGHT + (1 - self.pass_rate) * WRONG

    @property
    def gradient_A(self) -> Floats:
        """Gradient of the pass rate by the logits: law * (right - pass rate)."""
        return self.law_A * ((RIGHT > 0) - self.pass_rate)

    @property
    def entropy(self) -> float:
        """In nats."""
        return float(-sum(q * np.log(q) for q in self.law_A if q > 0))

    @staticmethod
    def spread(right: bool) -> float:
        """E |s - E s|^2 of the score s = e_arm - law among right, or wrong, arms: 1 - sum of squares of their law, at any pass rate."""
        return float(1 - ((RIGHT if right else WRONG) ** 2).sum())
