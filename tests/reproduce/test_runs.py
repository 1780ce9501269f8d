"""The experiment's own runs, real ones and short."""

from __future__ import annotations

import dataclasses

import pytest

from ada.recipe.validate import read_recipe
from ada.reproduce.experiment import Experiment, Method
from ada.reproduce.experiments import NAMES, experiment
from ada.reproduce.outcome import read_outcome
from ada.reproduce.runs import RunFailed, Runs, finished

SHORT = Experiment(
    "short",
    "Short",
    (Method("GRPO-n4", "micro_grpo_n4", 2),),
    seeds=(0, 1),
    budget=600.0,
    baselines=(),
    overrides=("batch.prompts_per_step=4", "evaluation.samples=8"),
)


@pytest.mark.parametrize("name", NAMES)
def test_every_method_is_a_recipe_with_the_experiments_settings(name):
    chosen = experiment(name)
    assert chosen.name == name
    assert {*chosen.baselines, *(claim.better for claim in chosen.claims), *(claim.worse for claim in chosen.claims)} <= {
        method.name for method in chosen.methods
    }
    assert len({method.folder for method in chosen.methods}) == len(chosen.methods)
    for method in chosen.methods:
        assert method.steps >= chosen.updates
        _, recipe = read_recipe(method.recipe, [f"steps={method.steps}", *method.overrides])
        assert recipe.batch.prompts_per_step == 32 and recipe.batch.updates_per_step == 2
        assert recipe.trainer.learning_rate == 1e-4 and recipe.generation.temperature == 1.0


def test_what_another_experiment_has_run_is_not_run_again():
    assert set(experiment("quick").methods) < set(experiment("paper").methods)


@pytest.mark.slow
def test_runs_end_are_read_and_not_run_again(tmp_path):
    said: list[str] = []
    runs = Runs(SHORT, tmp_path, jobs=1, report=said.append)
    runs.run()
    assert "[2/2] GRPO-n4, seed 1" in said[-1]
    outcomes = [read_outcome(runs.path(SHORT.methods[0], seed), "GRPO-n4", seed) for seed in SHORT.seeds]
    assert all(len(o.steps) == 2 and len(o.accuracy_E) == 2 and 0 < o.spent_E["seconds"][-1] < 60 for o in outcomes)
    assert outcomes[0].spent_E["tokens"][-1] > 2 * 4 * 4
    said.clear()
    Runs(SHORT, tmp_path, jobs=1, report=said.append).run()
    assert said == ["2 runs, 2 of them finished before; 1 at once"]


def test_what_would_not_fit_into_the_time_is_left_out(tmp_path):
    said: list[str] = []
    runs = Runs(dataclasses.replace(SHORT, budget=0.0), tmp_path, jobs=1, report=said.append)
    runs._seconds["GRPO-n4"] = [10.0]
    runs.run()
    assert len([line for line in said if "left out" in line]) == 2
    assert not finished(runs.path(SHORT.methods[0], 0), SHORT.methods[0])


@pytest.mark.slow
def test_a_run_that_fails_is_named_with_its_log(tmp_path):
    """And nothing begins after it: of five that are left, one process may have begun another."""
    wrong = dataclasses.replace(SHORT, seeds=tuple(range(6)), overrides=("no.such=key",))
    with pytest.raises(RunFailed, match="exit code 2; its last words are in .*micro_grpo_n4-seed0.txt"):
        Runs(wrong, tmp_path, jobs=1, report=lambda line: None).run()
    assert len(list(tmp_path.glob("*.txt"))) <= 2
