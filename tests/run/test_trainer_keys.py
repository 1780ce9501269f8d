"""Keys of the trainer that act between the rewards and the update, through a whole run."""

from __future__ import annotations

import pytest

from tests.run.launch import metrics, train

KEYS = ["trainer.kl={name: k3, coefficient: 0.01}", "trainer.correction={name: tis, cap: 1.0}", "trainer.truncated=drop"]


@pytest.mark.slow
def test_divergence_correction_and_penalty_reach_the_update(tmp_path):
    short = ["steps=1", "engine=transformers", "evaluation.samples=1", "generation.max_response_tokens=20"]
    train(tmp_path, *short, *KEYS, "run_name=with")
    train(tmp_path, *short, "trainer.overlong={buffer_tokens: 20}", "run_name=penalised")
    (_, keyed), (_, penalised) = (metrics(tmp_path / name) for name in ("with", "penalised"))
    assert keyed["train/kl"] > 0  # the second of the step's two updates starts away from the reference
    assert 0 < keyed["train/correction_capped_fraction"] < 1  # about half of the ratios are a rounding error above 1
    # The penalty changes no verdict, pool or metric of rewards, but the loss: every response is shortened of its length / 20.
    for name in ("reward/mean", "sampling/responses", "total/generated_tokens"):
        assert keyed[name] == penalised[name], name
    assert penalised["train/loss"] != pytest.approx(keyed["train/loss"], abs=1e-3)
    assert "train/kl" not in penalised
