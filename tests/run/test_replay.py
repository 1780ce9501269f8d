"""A run that trains on groups of earlier steps again."""

from __future__ import annotations

import pytest

from tests.run.launch import metrics, train

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


def test_groups_of_earlier_steps_join_the_updates(tmp_path):
    changes = ["steps=4", "batch.prompts_per_step=8", "evaluation.samples=1", "engine=transformers"]
    changes += ["sampling.replay.groups=3", "sampling.replay.max_age=2"]
    train(tmp_path, *changes, recipe="micro_grpo_n4_replay", shortened=False)
    _, *steps = metrics(tmp_path / "micro_grpo_n4_replay")
    stored = [round(8 * (1 - step["signal/zero_gradient_fraction"])) for step in steps]  # groups with right and wrong responses
    assert sum(stored[:3]) > 0, "this seed gives nothing to replay: take another"
    assert "replay/groups" not in steps[0]
    for number in (1, 2, 3):
        there = sum(stored[max(0, number - 2) : number])
        step = steps[number]
        assert step.get("replay/groups", 0) == min(3, there)
        if there:
            assert 1 <= step["replay/age_mean"] <= step["replay/age_max"] <= 2
            assert step["replay/log_ratio_abs_mean"] > 1e-4  # the weights have moved since
        assert step["sampling/trained"] + step["sampling/set_aside"] + step["sampling/dropped"] == step["sampling/responses"]
        assert step["mismatch/logprob_abs_max"] <= 1e-4  # of the step's own tokens
