"""What a sampler will cost and yield where prompts have given pass rates: forecasts before anything is drawn.

Uniform, Seq, never-give-up and SPEED: exact; DAPO over them too, with the prompts it draws in place of others, up to its cap. Est and
two-stage: in the limit of many prompts a step, with beliefs that are right; a share between two integers is split between them. Draws
beyond a resolving prefix are not counted, nor failures to score.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from ada.contracts import Schedule
from ada.sampling.pool_law import pool_law
from ada.sampling.profile import Profile
from ada.sampling.refills import opened_per_group
from ada.sampling.schedules.dapo import Dapo
from ada.sampling.schedules.est import Est
from ada.sampling.schedules.ngu import NeverGiveUp
from ada.sampling.schedules.seq import Seq
from ada.sampling.schedules.speed import Speed
from ada.sampling.schedules.two_stage import TwoStage
from ada.sampling.schedules.uniform import Uniform

Floats = npt.NDArray[np.float64]

BASELINE = 4  # draws of the sampler that others are compared with, GRPO-n4


@dataclass(frozen=True)
class Sampler:
    label: str
    schedule: Schedule
    group_size: int | None  # responses of a prompt that are trained on at most; None: all
    positives_only: bool = False  # right ones alone are trained on
    drops_zero_variance: bool = False


SEQ_BALANCE = Seq(exit="balance", positives=2, check_every=8, max_draws=32)


def standard_samplers() -> list[Sampler]:
    """GRPO, Reinforce-Ada as in the paper's experiments (arXiv 2510.04996: M = 8, at most 32, groups of 4; Est of 8 on average), and its
    rivals."""
    grpo = [Sampler(f"GRPO-n{n}", Uniform(draws=n), n) for n in (BASELINE, 8, 16)]
    return [
        *grpo,
        Sampler("Seq-pos", Seq(exit="pos", positives=1, check_every=8, max_draws=32), 4),
        Sampler("Seq-balance", SEQ_BALANCE, 4),
        Sampler("Est", Est(mean_draws=8, exponent=0.5, epsilon=0.02, min_draws=1, max_draws=32), None),
        Sampler("DAPO", Dapo(inner=Uniform(draws=4)), None, drops_zero_variance=True),
        Sampler("Seq-balance+DAPO", Dapo(inner=SEQ_BALANCE), 4, drops_zero_variance=True),
        Sampler("GVM-RAFT", TwoStage(explore=4, mean_draws=8, max_draws=32), None, positives_only=True),
        Sampler("NGU", NeverGiveUp(check_every=8, max_draws=64, again=0.5), None),
    ]


@dataclass(frozen=True)
class PoolEnds:
    """How the pool of a prompt ends: shape letters P pass rates, T the values that its number of draws N can take."""

    draws_T: npt.NDArray[np.int64]
    ends_PT: Floats  # probability that N = draws_T[t]
    all_wrong_PT: Floats  # that N = draws_T[t] and none is right
    all_right_PT: Floats

    @property
    def expected_draws_P(self) -> Floats:
        return self.ends_PT @ self.draws_T

    @property
    def zero_gradient_P(self) -> Floats:
        return (self.all_wrong_PT + self.all_right_PT).sum(-1)

    def recovered_P(self, p: Floats) -> Floats:
        """Probability that the first 4 draws are all alike and the pool is not. A pool of fewer draws goes on to 4 in thought."""
        missing = np.maximum(BASELINE - self.draws_T, 0)
        alike = self.all_wrong_PT * (1 - p[:, None]) ** missing + self.all_right_PT * p[:, None] ** missing
        return np.maximum(p**BASELINE + (1 - p) ** BASELINE - alike.sum(-1), 0.0)


@dataclass(frozen=True)
class Forecast:
    """Per prompt that a step asks for, in the mean over the profile."""

    responses: float
    trained: float  # responses that enter the update
    zero_gradient: float  # groups with a gradient that are missing: pools of one outcome that nothing replaces
    recovered: float  # prompts whose first 4 draws are all alike, and whose pool is not

    def step_time(self, baseline: Forecast, generation_seconds: float, update_seconds: float) -> float:
        """Relative to `baseline`, whose generation and update take the given seconds, both in proportion to responses."""
        generation = generation_seconds * self.responses / baseline.responses
        return (generation + update_seconds * self.trained / baseline.trained) / (generation_seconds + update_seconds)


def forecast(sampler: Sampler, profile: Profile, prompts: int) -> Forecast:
    """`prompts`: B, how many a step asks for, which DAPO's refills depend on."""
    if isinstance(sampler.schedule, Dapo):
        return _refilled(sampler, sampler.schedule, profile, prompts)
    p = profile.pass_rates_P
    ends = pool_ends(sampler.schedule, p, profile)
    trained_PT = ends.ends_PT - (ends.all_wrong_PT + ends.all_right_PT if sampler.drops_zero_variance else 0.0)
    if sampler.positives_only:  # by Wald's identity p E[N] right ones, as N never looks ahead
        trained = p * ends.expected_draws_P - (ends.all_right_PT @ ends.draws_T if sampler.drops_zero_variance else 0.0)
    else:
        trained = trained_PT @ (ends.draws_T if sampler.group_size is None else np.minimum(ends.draws_T, sampler.group_size))
    return Forecast(
        responses=profile.mean(ends.expected_draws_P),
        trained=profile.mean(trained),
        zero_gradient=profile.mean(ends.zero_gradient_P),
        recovered=profile.mean(ends.recovered_P(p)),
    )


def _refilled(sampler: Sampler, dapo: Dapo, profile: Profile, prompts: int) -> Forecast:
    """What a prompt has in the mean, times the prompts opened; one without a signal is missing only where no other replaces it."""
    inner = forecast(replace(sampler, schedule=dapo.inner), profile, prompts)
    valid = 1 - inner.zero_gradient
    opened = float(opened_per_group(np.array([valid]), prompts, dapo.max_gen_batches)[0])
    return Forecast(inner.responses * opened, inner.trained * opened, max(0.0, 1 - opened * valid), inner.recovered * opened)


def pool_ends(schedule: Schedule, p: Floats, profile: Profile) -> PoolEnds:
    """At pass rates `p` [P]. `profile` is the step's other prompts: what est and two-stage divide their draws over."""
    match schedule:
        case Uniform() | Seq():
            return _by_law(schedule, p)
        case NeverGiveUp():
            return _never_give_up(schedule, p)
        case Speed():
            return _screened(schedule, p)
        case Est():
            return _allotted(schedule, p, profile)
        case TwoStage():
            return _two_stage(schedule, p, profile)
    raise ValueError(
        f"schedule `{getattr(schedule, 'name', schedule)}` has no forecast; those that have: uniform, seq, ngu, speed, est, two_stage, dapo"
    )


def _by_law(schedule: Seq | Uniform, p: Floats) -> PoolEnds:
    wrong, right, ends = [], [], []
    for part in np.array_split(p, -(-len(p) // 256)):  # a whole file at once could take gigabytes
        law = pool_law(schedule, part)
        ends.append(law.draws_PT)
        wrong.append(law.stopped_PTK[:, :, 0])
        right.append(law.stopped_PTK[:, np.arange(len(law.draws_T)), law.draws_T])
    return PoolEnds(law.draws_T, np.concatenate(ends), np.concatenate(wrong), np.concatenate(right))


def _never_give_up(schedule: NeverGiveUp, p: Floats) -> PoolEnds:
    """Another round only where all so far were wrong, and then with probability q: reached after t rounds with (q (1 - p)^K)^t."""
    size = schedule.check_every
    draws = np.arange(size, schedule.max_draws + 1, size)
    failed = (1 - p[:, None]) ** size
    reached = (schedule.again * failed) ** np.arange(len(draws))
    again = np.where(draws < schedule.max_draws, schedule.again, 0.0)
    right = np.zeros_like(reached)
    right[:, 0] = p**size
    return PoolEnds(draws, reached * (1 - again * failed), reached * failed * (1 - again), right)


def _screened(schedule: Speed, p: Floats) -> PoolEnds:
    wrong, right, none = (1 - p) ** schedule.screen, p**schedule.screen, np.zeros_like(p)
    draws = np.array([schedule.screen, schedule.draws])
    return PoolEnds(draws, np.stack([wrong + right, 1 - wrong - right], 1), np.stack([wrong, none], 1), np.stack([right, none], 1))


def _allotted(schedule: Est, p: Floats, profile: Profile) -> PoolEnds:
    def share(at: Floats) -> Floats:
        return (at + schedule.epsilon) ** -schedule.exponent

    allot = _allotment(share(profile.pass_rates_P), profile.weights_P, schedule.mean_draws, schedule.min_draws, schedule.max_draws)
    draws = np.arange(schedule.min_draws, schedule.max_draws + 1)
    ends = _between(allot(share(p)), draws)
    return PoolEnds(draws, ends, ends * (1 - p[:, None]) ** draws, ends * p[:, None] ** draws)


def _two_stage(schedule: TwoStage, p: Floats, profile: Profile) -> PoolEnds:
    explored = Uniform(draws=schedule.explore)
    right_K = np.arange(schedule.explore + 1)
    seen = np.maximum(right_K / schedule.explore, schedule.floor)
    share_K = np.sqrt((1 - seen) / seen) if schedule.rule == "baseline" else seen**-0.5
    weight_K = profile.weights_P @ pool_law(explored, profile.pass_rates_P).stopped_PTK[:, 0]
    most = schedule.max_draws - schedule.explore
    extra = np.arange(most + 1)
    extra_KE = _between(_allotment(share_K, weight_K, schedule.mean_draws - schedule.explore, 0, most)(share_K), extra)
    seen_PK = pool_law(explored, p).stopped_PTK[:, 0]
    wrong = seen_PK[:, :1] * extra_KE[0] * (1 - p[:, None]) ** extra
    right = seen_PK[:, -1:] * extra_KE[-1] * p[:, None] ** extra
    return PoolEnds(schedule.explore + extra, seen_PK @ extra_KE, wrong, right)


def _allotment(share: Floats, weight: Floats, mean: float, minimum: int, maximum: int) -> Callable[[Floats], Floats]:
    """Draws in proportion to a share within the bounds, whose mean over shares of these weights is `mean`: `allocate` for many prompts."""
    smallest = 1e-9 * share.max()  # as in `allocate`: a share of 0 gets what is left when all others have the most
    low, high = minimum / share.max(), maximum / max(share.min(), smallest)

    def allot(factor: float, of: Floats) -> Floats:
        return np.clip(factor * np.maximum(of, smallest), minimum, maximum)

    while low < (middle := (low + high) / 2) < high:
        if weight @ allot(middle, share) <= mean * weight.sum():
            low = middle
        else:
            high = middle
    return lambda of: allot(low, of)


def _between(real: Floats, whole_T: npt.NDArray[np.int64]) -> Floats:
    """[X] numbers as laws [X, T] on the integers beside them, with the same mean."""
    return np.maximum(1 - np.abs(real[:, None] - whole_T), 0.0)
