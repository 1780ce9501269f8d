"""The same by chance: steps of a frozen policy through the real collector, schedule, beliefs, groups, credit, loss and aggregation."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np
import torch

from ada.data.selection.shuffle import Shuffle
from ada.engine.alone import Alone
from ada.laboratory.bandit import ARMS, Bandit, Floats, is_right
from ada.laboratory.credits import one_row
from ada.laboratory.estimator import Estimator
from ada.ranks import Ranks
from ada.rewards.service import Verdict
from ada.sampling.collector import Collector
from ada.sampling.grouping import group_of
from ada.sampling.passrate.ema import EMA
from ada.sampling.schedules.dapo import Dapo, refills
from ada.sampling.seeds import seed_of
from ada.trainer.credit import to_sequences
from ada.types import Draw, PassRate, Pool, Prompt, Response

BEFORE = 10  # visits of each prompt from which beliefs are learned before anything is measured


@dataclass(frozen=True)
class Trial:
    """Shape letters: S steps, P pass rates, A arms. Gradients are summed over the prompts of a pass rate."""

    pass_rates: Sequence[float]
    summed_SPA: Floats  # of credit times score, before the aggregation divides
    divided_SPA: Floats  # as the aggregation divides it in each step
    opened_SP: Floats  # prompts sampled

    def weights(self) -> tuple[Floats, Floats]:
        """Estimate and standard error, for each pass rate, of the weight in E g = weight * grad p of one prompt (`Moments.weight`)."""
        along_SP = self._along(self.summed_SPA)
        opened_P = self.opened_SP.sum(0)
        weight_P = along_SP.sum(0) / opened_P
        return weight_P, np.sqrt(((along_SP - weight_P * self.opened_SP) ** 2).sum(0)) / opened_P

    def size_against(self, expected_P: Floats) -> tuple[float, float]:
        """The step's gradient along the expected one, expected_P * grad p of each pass rate, as a share of it; and its standard error."""
        gradients_PA = np.stack([Bandit(p).gradient_A for p in self.pass_rates]) * expected_P[:, None]
        shares_S = (self.divided_SPA * gradients_PA).sum((1, 2)) / (gradients_PA**2).sum()
        return float(shares_S.mean()), float(shares_S.std(ddof=1) / np.sqrt(len(shares_S)))

    def _along(self, gradients_SPA: Floats) -> Floats:
        of_rate_PA = np.stack([Bandit(p).gradient_A for p in self.pass_rates])
        return (gradients_SPA * of_rate_PA).sum(-1) / (of_rate_PA**2).sum(-1)


def run_trial(
    estimator: Estimator, pass_rates: Sequence[float], *, copies: int, steps: int, seed: int = 0, learned_beliefs: bool = False
) -> Trial:
    """`copies` prompts of each pass rate a step. DAPO takes its prompts, and those it draws in their place, from ten times as many."""
    prompts = [
        Prompt(f"laboratory/{i}/{copy}", (i,), "", "laboratory", "")
        for copy in range(copies * (10 if isinstance(estimator.schedule, Dapo) else 1))
        for i in range(len(pass_rates))
    ]
    asked = copies * len(pass_rates)
    selector = Shuffle().start(prompts, seed)
    collector = Collector(
        ArmEngine(pass_rates),  # type: ignore[arg-type]
        ArmRewards(),  # type: ignore[arg-type]
        lambda ids: str(ids[0]),
        Ranks(),
        seed=seed,
        max_concurrent=64 * asked,
    )
    beliefs = estimator.passrate.start() if learned_beliefs and isinstance(estimator.passrate, EMA) else RightBeliefs(pass_rates)

    def refill(pools: Sequence[Pool]) -> Sequence[Prompt]:
        wanted = refills(estimator.schedule, pools, asked)
        return selector.next(wanted, beside={pool.prompt.id for pool in pools}) if wanted else ()

    summed, divided, opened = [], [], []
    for step in range(-BEFORE if learned_beliefs else 0, steps):
        pools, _ = collector.collect(f"step-{step}", selector.next(asked), estimator.schedule, believe=beliefs.believe, refill=refill)
        beliefs.learn(pools)
        if step < 0:
            continue
        rates = [pool.prompt.token_ids[0] for pool in pools]
        count, gradient_PA = _update(estimator, pools, rates, pass_rates, seed, step)
        summed.append(gradient_PA * count)
        divided.append(gradient_PA)
        opened.append(np.bincount(rates, minlength=len(pass_rates)))
    return Trial(pass_rates, np.stack(summed), np.stack(divided), np.stack(opened).astype(np.float64))


def _update(
    estimator: Estimator, pools: Sequence[Pool], rates: Sequence[int], pass_rates: Sequence[float], seed: int, step: int
) -> tuple[int, Floats]:
    """Responses in the step's one update, and the direction it goes along: minus the gradient of the aggregated loss, by autograd."""
    groups = [group_of(p, estimator.group, estimator.size, seed_of(seed, "group", step, p.prompt.id)) for p in pools]
    sequences = to_sequences(groups, estimator.advantage, estimator.objective, estimator.zero_variance)
    if not sequences:
        return 0, np.zeros((len(pass_rates), ARMS))
    logits_PA = torch.tensor(np.log([Bandit(p).law_A for p in pass_rates]), requires_grad=True)
    batch = one_row(sequences, [Bandit(pass_rates[rates[s.group]]).entropy for s in sequences])
    rows = torch.tensor([rates[s.group] for s in sequences])
    logprobs = logits_PA.log_softmax(-1)[rows, batch.tokens_RL[0]][None]
    per_token, _ = estimator.loss.per_token(logprobs, logprobs.detach(), batch)
    (estimator.aggregation.weights(batch) * per_token).sum().backward()
    assert logits_PA.grad is not None
    return len(sequences), -logits_PA.grad.numpy()


class RightBeliefs:
    def __init__(self, pass_rates: Sequence[float]):
        self.pass_rates = pass_rates

    def believe(self, prompts: Sequence[Prompt]) -> list[PassRate]:
        return [PassRate(self.pass_rates[prompt.token_ids[0]], 1.0) for prompt in prompts]

    def learn(self, pools: Sequence[Pool]) -> None: ...


class ArmEngine(Alone):
    """Every draw ends at the next step; its arm is decided by its seed, and by nothing else."""

    weight_version = 0

    def __init__(self, pass_rates: Sequence[float]):
        self.bounds = [list(accumulate(Bandit(p).law_A.tolist()))[:-1] for p in pass_rates]
        self.queue: list[Draw] = []

    def submit(self, draw: Draw) -> None:
        self.queue.append(draw)

    def step(self) -> list[Response]:
        ended, self.queue = self.queue, []
        return [Response(d.prompt.id, d.index, (self._arm(d),), (0.0,), "stop", 0) for d in ended]

    def abort(self, draws: Iterable[Draw]) -> int:
        gone, before = set(draws), len(self.queue)
        self.queue = [draw for draw in self.queue if draw not in gone]
        return before - len(self.queue)  # each draw is one token

    def _arm(self, draw: Draw) -> int:
        return bisect_right(self.bounds[draw.prompt.token_ids[0]], draw.seed / 2**63)


class ArmRewards:
    def __init__(self) -> None:
        self.scored: list[tuple[Any, Verdict]] = []

    def submit(self, key: Any, text: str, answer: str, *_: object) -> None:
        self.scored.append((key, Verdict(float(is_right(int(text))), is_right(int(text)))))

    def poll(self, wait_seconds: float = 0.0) -> list[tuple[Any, Verdict]]:
        scored, self.scored = self.scored, []
        return scored
