"""Steps drawn by chance, through the real collector and autograd, against the exact moments."""

from __future__ import annotations

import numpy as np
import pytest

from ada.laboratory.bandit import Bandit
from ada.laboratory.estimator import Estimator
from ada.laboratory.moments import moments
from ada.laboratory.trial import run_trial
from ada.recipe.validate import read_recipe
from ada.sampling.schedules.uniform import Uniform
from ada.trainer.advantages.centred import Centred

P = (0.1, 0.4, 0.9)


def compare(estimator: Estimator, copies: int, steps: int) -> None:
    exact = moments(estimator, P, [1 / 3] * 3)
    trial = run_trial(estimator, P, copies=copies, steps=steps)
    found_P, error_P = trial.weights()
    exact_P = np.array([m.weight for m in exact])
    assert (np.abs(found_P - exact_P) < 4 * error_P).all(), (found_P, error_P, exact_P)
    assert (error_P < 0.12 * exact_P).all()  # else the line above would hold for anything
    for i, p in enumerate(P):  # and nothing across the gradient
        mean_A = trial.summed_SPA[:, i].mean(0)
        across_A = mean_A - mean_A @ Bandit(p).gradient_A / (Bandit(p).gradient_A ** 2).sum() * Bandit(p).gradient_A
        assert (np.abs(across_A) < 4.5 * trial.summed_SPA[:, i].std(0) / np.sqrt(steps) + 1e-9).all()


def test_leave_one_out():
    compare(Estimator(Uniform(draws=8), advantage=Centred(baseline="leave_one_out")), copies=4, steps=120)


KINDS = ["micro_dapo_n4", "micro_est_ema", "micro_gvm_raft", "micro_ngu", "micro_rlzvp", "micro_seq_balance_log"]


@pytest.mark.slow
@pytest.mark.parametrize("name", KINDS)
def test_recipes_of_every_kind(name):
    """Many prompts a step: the exact moments are those of a large one. Many steps: few tell too little of how rare outcomes spread."""
    compare(Estimator.of(read_recipe(name)[1]), copies=40, steps=80)


def test_variance():
    estimator = Estimator(Uniform(draws=4))
    trial = run_trial(estimator, [0.3], copies=1, steps=600)
    (exact,) = moments(estimator, [0.3], [1.0])
    squares = ((trial.summed_SPA[:, 0] - exact.weight * Bandit(0.3).gradient_A) ** 2).sum(-1)
    assert squares.mean() == pytest.approx(exact.variance, abs=4 * squares.std() / np.sqrt(600))


def test_the_division_of_the_aggregation_is_in_the_step_and_its_size_is_against_the_expected_one():
    """4 responses of each of 2 prompts of one pass rate: each step divides by 8, and the mean gradient is 3/4 grad p."""
    trial = run_trial(Estimator(Uniform(draws=4)), [0.5], copies=2, steps=50)
    np.testing.assert_allclose(trial.divided_SPA * 8, trial.summed_SPA)
    share, error = trial.size_against(np.array([0.75]))
    assert abs(share - 1) < 4 * error < 0.5
