"""What an estimator's gradient comes to over the prompts of a step, beside the gradients of known objectives.

Scale: the sum over a step's trained responses of credit times score, divided by their mean number, as the token mean does in a large update
where responses are equally long. Each prompt has parameters of its own, so one prompt's gradient cannot stand in for another's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ada.contracts import Objective
from ada.laboratory.bandit import Bandit, Floats
from ada.laboratory.estimator import Estimator
from ada.laboratory.moments import Moments, moments
from ada.sampling.schedules.dapo import Dapo
from ada.trainer.objectives.linear import Linear
from ada.trainer.objectives.log import Log
from ada.trainer.objectives.power import Power

PASS_RATES = (0.02, 0.05, 0.1, 0.3, 0.6, 0.9)
"""Of the laboratory's step, each of as many prompts: a third of all answers are right, half of the prompts are at 0.1 or below."""

OBJECTIVES: dict[str, Objective] = {"linear": Linear(), "power": Power(alpha=0.5, floor=1e-9), "log": Log(floor=1e-9)}


def derivative(name: str, pass_rates: Sequence[float]) -> Floats:
    """f'(p): of linear p, power 2 sqrt(p) (so that f'(1) = 1), log log(p), and logit log(p / (1 - p))."""
    p = np.asarray(pass_rates)
    if name == "logit":
        with np.errstate(divide="ignore"):
            return 1 / (p * (1 - p))
    return np.array([OBJECTIVES[name].weight(x) for x in pass_rates]) / OBJECTIVES[name].weight(1.0)


@dataclass(frozen=True)
class Summary:
    of: tuple[Moments, ...]
    shares_P: Floats
    refills: bool

    @property
    def pass_rates(self) -> list[float]:
        return [m.pass_rate for m in self.of]

    @property
    def weights_P(self) -> Floats:
        """The effective f'(p)."""
        return np.array([m.weight for m in self.of]) / self.mean([m.trained for m in self.of])

    @property
    def drawn(self) -> float:
        """Responses per prompt that a step asks for; DAPO's refills, without its cap, are of it."""
        drawn = self.mean([m.drawn for m in self.of])
        return drawn / self.mean([m.trains for m in self.of]) if self.refills else drawn

    def mean(self, values_P: Sequence[float]) -> float:
        return float(self.shares_P @ np.asarray(values_P))

    def cosine(self, objective: str) -> float:
        """Between the expected gradient and that of the objective."""
        own, true = self._lengths(self.weights_P), self._lengths(derivative(objective, self.pass_rates))
        return float(own @ true / np.sqrt((own @ own) * (true @ true)))

    def length(self, objective: str) -> float:
        """The expected gradient's component along the objective's, in units of the latter's length."""
        own, true = self._lengths(self.weights_P), self._lengths(derivative(objective, self.pass_rates))
        return float(own @ true / (true @ true))

    def relative_weights(self, objective: str) -> Floats:
        """Effective weight over f'(p) times `length`: 1 everywhere where the direction is right."""
        return self.weights_P / (self.length(objective) * derivative(objective, self.pass_rates))

    @property
    def noise(self) -> float:
        """Responses per prompt after which the gradient's noise is as long as its mean: trace of covariance / squared mean * E[N]."""
        drawn = self.mean([m.drawn for m in self.of])
        return drawn * self.mean([m.variance for m in self.of]) / self.mean([m.squared_mean for m in self.of])

    @property
    def noise_P(self) -> Floats:
        """The same for the prompts of one pass rate."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.array([m.drawn * m.variance for m in self.of]) / np.array([m.squared_mean for m in self.of])

    def _lengths(self, weights_P: Floats) -> Floats:
        """Of the gradient's part that belongs to each pass rate; 0 where the policy is always right or always wrong."""
        inner = [0 < p < 1 for p in self.pass_rates]
        lengths_P = np.array([np.linalg.norm(Bandit(p).gradient_A) for p in self.pass_rates]) * np.sqrt(self.shares_P)
        return lengths_P * np.where(inner, weights_P, 0.0)


def summarise(estimator: Estimator, pass_rates: Sequence[float] = PASS_RATES, shares: Sequence[float] | None = None) -> Summary:
    shares_P = np.full(len(pass_rates), 1 / len(pass_rates)) if shares is None else np.asarray(shares)
    found = moments(estimator, pass_rates, shares_P.tolist())
    return Summary(tuple(found), shares_P, isinstance(estimator.schedule, Dapo))
