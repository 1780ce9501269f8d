"""Mean and noise of a prompt's gradient, exactly.

Given its rewards, a pool's right answers are independent draws from the policy's right answers, and so are the wrong ones: the score of a
right answer has the mean grad p / p, that of a wrong one -grad p / (1 - p). With c the credit of a response, C+ and C- its sums over the
right and the wrong ones that are trained on, the mean of a prompt's gradient is

    E g = E[C+ / p - C- / (1 - p)] grad p = weight * grad p

for every policy whose pass rate is p, not only for the bandit's: such a recipe does gradient ascent on E f(p) with f' = weight. The
exception is RL-ZVP, whose credit looks at the policy's entropy.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from ada.laboratory.bandit import Bandit, is_right
from ada.laboratory.credits import coefficients
from ada.laboratory.ends import pool_ends
from ada.laboratory.estimator import Estimator
from ada.laboratory.groups import groups_of
from ada.trainer.credit import to_sequences


@dataclass(frozen=True)
class Moments:
    """Of one prompt. Its gradient g is the sum of credit times score over its trained responses; nothing is divided by their number."""

    pass_rate: float
    drawn: float  # E[N]
    trained: float  # mean number of responses that count in the update
    trains: float  # probability that any does
    weight: float  # E g = weight * grad p
    variance: float  # trace of the covariance of g

    @property
    def squared_mean(self) -> float:
        return float(self.weight**2 * (Bandit(self.pass_rate).gradient_A ** 2).sum())


def moments(estimator: Estimator, pass_rates: Sequence[float], shares: Sequence[float]) -> list[Moments]:
    """For each pass rate, in a step of many prompts that have them in these shares, with beliefs that are right."""
    laws = pool_ends(estimator.prompt_schedule, pass_rates, shares)
    kinds = [[(*end, p if estimator.credit_reads_pass_rate else None) for end in law] for p, law in zip(pass_rates, laws, strict=True)]
    credits = _credits(estimator, {kind for of_rate in kinds for kind in of_rate})
    return [
        _moments(p, list(law.values()), [n for n, _ in law], [credits[kind] for kind in of_rate])
        for p, law, of_rate in zip(pass_rates, laws, kinds, strict=True)
    ]


@dataclass(frozen=True)
class Credit:
    """Of one group: sums of the credit and of its square over right (plus) and wrong (minus) responses."""

    trained: int
    plus: float
    minus: float
    plus_squared: float
    minus_squared: float


Kind = tuple[int, int, float | None]  # draws, right ones, and the pass rate where the credit depends on it


def _credits(estimator: Estimator, kinds: Iterable[Kind]) -> dict[Kind, list[tuple[float, Credit]]]:
    """The groups' credits with their probabilities, for each kind of pool."""
    made = [(kind, *made) for kind in kinds for made in groups_of(estimator.group, estimator.size, *kind)]
    sequences = to_sequences([group for *_, group in made], estimator.advantage, estimator.objective, estimator.zero_variance)
    entropies = [Bandit(p).entropy if (p := made[sequence.group][0][2]) is not None else 0.0 for sequence in sequences]
    members = defaultdict(list)
    for sequence, c in zip(sequences, coefficients(sequences, entropies, estimator.loss), strict=True):
        members[sequence.group].append((is_right(sequence.response_ids[0]), c))
    found = defaultdict(list)
    for index, (kind, chance, _) in enumerate(made):
        found[kind].append((chance, _credit(members[index])))
    return found


def _moments(p: float, ends: Sequence[float], drawn: Sequence[int], credits: Sequence[Sequence[tuple[float, Credit]]]) -> Moments:
    chance = np.array([end * share for end, groups in zip(ends, credits, strict=True) for share, _ in groups])
    of = [credit for groups in credits for _, credit in groups]
    weights = np.array([c.plus / p - c.minus / (1 - p) for c in of]) if 0 < p < 1 else np.zeros(len(of))  # there grad p is 0
    weight = float(chance @ weights)
    # Var g = Var of its mean given the rewards + mean of its variance given them, where the responses are independent.
    between = chance @ (weights - weight) ** 2 * (Bandit(p).gradient_A ** 2).sum()
    within = chance @ [c.plus_squared * Bandit.spread(True) + c.minus_squared * Bandit.spread(False) for c in of]
    return Moments(
        pass_rate=p,
        drawn=float(np.dot(ends, drawn)),
        trained=float(chance @ [c.trained for c in of]),
        trains=float(chance @ [c.trained > 0 for c in of]),
        weight=weight,
        variance=float(between + within),
    )


def _credit(members: Sequence[tuple[bool, float]]) -> Credit:
    plus, minus = [c for right, c in members if right], [c for right, c in members if not right]
    return Credit(len(members), sum(plus), sum(minus), sum(c * c for c in plus), sum(c * c for c in minus))
