"""Each check of a report, on a run that is sound and on one that is not."""

from __future__ import annotations

import pytest

from ada.report.checks import examine
from ada.report.record import read_run
from tests.report.runs import RECIPE, pools, step, write

SOUND = {
    "reward/first_n": 0.5,
    "reward/timeouts": 0,
    "reward/errors": 0,
    "sampling/responses": 100,
    "sampling/all_right_fraction": 0.1,
    "sampling/all_wrong_fraction": 0.1,
    "signal/zero_gradient_fraction": 0.2,
    "completions/clipped_fraction": 0.01,
    "train/loss": 0.1,
    "train/tokens": 100,
    "train/grad_norm": 0.5,
    "train/entropy": 0.4,
    "train/clip_fraction": 0.01,
    "train/skipped_updates": 0,
    "mismatch/logprob_abs_mean": 1e-6,
    "mismatch/sync_logprob_abs_max": 1e-6,
    "throughput/rollout_tokens_per_second": 1000.0,
}
DONE = {"stopped_by": None}


@pytest.fixture
def levels(tmp_path):
    def examined(change=lambda step, row: None, summary=DONE, recipe=RECIPE, steps=50, rows=None, draws=()):
        rows = rows if rows is not None else [{"step": 0}, *({"step": i, **SOUND} for i in range(1, steps + 1))]
        for row in rows:
            change(row["step"], row)
        return {one.title: one.level for one in examine(read_run(write(tmp_path / "r", rows, draws, summary=summary, recipe=recipe)))}

    return examined


def test_a_sound_run_worries_nobody(levels):
    found = levels(draws=[pools(1, "RW", "WRWR", beliefs=[0.5, 0.5])])
    assert set(found.values()) == {"good"} and len(found) == 18


@pytest.mark.parametrize(
    "metric, value, title, level",
    [
        ("signal/zero_gradient_fraction", 0.6, "Prompts without a gradient", "warn"),
        ("signal/zero_gradient_fraction", 0.9, "Prompts without a gradient", "bad"),
        ("sampling/all_right_fraction", 0.6, "Prompts always answered right", "warn"),
        ("sampling/all_wrong_fraction", 0.8, "Prompts never answered right", "bad"),
        ("completions/clipped_fraction", 0.3, "Responses cut off", "bad"),
        ("train/clip_fraction", 0.2, "Tokens whose ratio is clipped", "warn"),
        ("train/kl", 1.0, "Distance from the reference model (KL)", "warn"),
        ("train/skipped_updates", 0.2, "Updates skipped", "warn"),
        ("mismatch/logprob_abs_mean", 1e-4, "Sampler and trainer disagree on log-probs", "warn"),
        ("mismatch/logprob_abs_mean", 0.05, "Sampler and trainer disagree on log-probs", "bad"),
        ("train/entropy", 0.1, "Entropy of the policy", "warn"),
        ("train/entropy", 0.01, "Entropy of the policy", "bad"),
        ("train/entropy", 2.0, "Entropy of the policy", "bad"),
        ("mismatch/logprob_abs_mean", 5e-6, "Drift of sampler and trainer apart", "warn"),
        ("reward/first_n", 0.1, "Reward, beside its best", "bad"),
        ("throughput/rollout_tokens_per_second", 300.0, "Speed of drawing", "warn"),
    ],
)
def test_the_last_tenth_decides(levels, metric, value, title, level):
    """From step 46 on the metric is `value`; one step earlier alone would change nothing."""
    found = levels(lambda step, row: row.update({metric: value}) if step > 45 else None)
    assert found[title] == level


@pytest.mark.parametrize(
    "metric, value, title, level",
    [
        ("mismatch/sync_logprob_abs_max", 1e-3, "Weights in the engine after a sync", "bad"),
        ("train/grad_norm", 20.0, "Spikes of the gradient norm", "warn"),
        ("train/loss", None, "Loss is a number", "bad"),
        ("reward/timeouts", 50, "Responses without a verdict", "warn"),  # 50 of 5,000
        ("reward/errors", 200, "Responses without a verdict", "bad"),
    ],
)
def test_one_step_is_enough(levels, metric, value, title, level):
    assert levels(lambda step, row: row.update({metric: value}) if step == 20 else None)[title] == level


def test_bfloat16_may_disagree_more(levels):
    recipe = {**RECIPE, "model": {"dtype": "bfloat16"}}
    assert levels(lambda _, row: row.update({"mismatch/logprob_abs_mean": 0.01}), recipe=recipe)[
        "Sampler and trainer disagree on log-probs"
    ] == ("good")


@pytest.mark.parametrize(
    "summary, error, level",
    [
        (DONE, None, "good"),
        (None, None, "warn"),
        ({"stopped_by": "SIGTERM"}, None, "warn"),
        ({"stopped_by": "ValueError: x"}, None, "bad"),
        (None, "ValueError: x", "bad"),
    ],
)
def test_how_a_run_ended(levels, summary, error, level):
    found = levels(lambda step, row: row.update(error=error) if error and step == 50 else None, summary=summary)
    assert found["End of the run"] == level


def test_held_out_accuracy_that_falls(levels):
    found = levels(lambda step, row: row.update({"eval/a/avg@8": 0.5 - step / 500, "eval/b/avg@8": step / 50}) if step % 25 == 0 else None)
    assert found["Held-out accuracy, a/avg@8"] == "bad" and found["Held-out accuracy, b/avg@8"] == "good"


def test_budgets_that_are_used_up_and_beliefs_that_are_wrong(levels):
    draws = [pools(1, "RW"), pools(2, "WW", "WW", outcome="exhausted"), pools(3, "RR", beliefs=[0.2])]
    found = levels(draws=draws)
    assert found["Prompts that used up their draws"] == "warn"  # two of four
    assert found["Beliefs about pass rates, beside what was drawn"] == "bad"  # off by 0.8


def test_a_run_of_a_step_is_not_compared_with_itself(levels):
    found = levels(steps=1)
    assert "Entropy of the policy" not in found and found["Prompts without a gradient"] == "good"


def test_the_worst_comes_first(tmp_path):
    rows = [step(0)] + [{"step": i, **SOUND, "completions/clipped_fraction": 0.5, "train/clip_fraction": 0.2} for i in range(1, 51)]
    assert [one.level for one in examine(read_run(write(tmp_path / "r", rows, summary=DONE)))][:3] == ["bad", "warn", "good"]
