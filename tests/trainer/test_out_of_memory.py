"""Memory runs out: the same update with the same gradient, the same passes without one, from smaller micro-batches. Two ranks:
test_two_ranks.py."""

from __future__ import annotations

import pytest
import torch

from ada.trainer.errors import OutOfMemory
from ada.trainer.kl.k3 import K3
from ada.trainer.losses.clipped import Clipped
from tests.trainer.plain import sequences
from tests.trainer.small_memory import too_small_for
from tests.trainer.test_actor import batches, start, weights

pytestmark = pytest.mark.slow


STAGES = [0, 1, 2, 3]


@pytest.fixture(scope="module")
def halved(tiny_model):
    """What it is to come to: old log-probs, and two updates and their weights, in micro-batches that are small from the start."""
    actor = start(tiny_model, zero_stage=0)
    actor.budget.slots = 17
    b = batches(actor, sequences())
    old = actor.logprobs(b)
    return b, old, [actor.update(b, old, Clipped()) for _ in range(2)], weights(actor)


@pytest.mark.parametrize(
    ("stage", "where", "at", "checkpointing"),
    [(stage, "forward", "last layer", stage % 2 == 1) for stage in STAGES]
    + [(stage, "backward", "first layer", stage % 2 == 0) for stage in STAGES]
    + [(3, "backward", "head", False)],
)
def test_the_update_is_repeated_with_the_same_gradient(tiny_model, halved, stage, where, at, checkpointing):
    b, old, updates, moved = halved
    small = start(tiny_model, zero_stage=stage, gradient_checkpointing=checkpointing)
    with too_small_for(small.engine.module, 16 if at == "head" else 30, where, at) as failed:
        for again, expected in zip((False, True), updates, strict=True):
            found = small.update(b, old, Clipped())
            assert small.budget.halvings() == (0 if again else 2)  # 70 slots, 35, 17
            assert (failed != []) != again
            assert found.grad_norm == pytest.approx(expected.grad_norm, rel=1e-5)
            assert found.loss == pytest.approx(expected.loss, rel=1e-5, abs=1e-6)
            failed.clear()
    for x, y in zip(moved.values(), weights(small).values(), strict=True):
        torch.testing.assert_close(x, y, atol=2e-6, rtol=1e-5)


def test_bfloat16_at_stage_1_which_has_an_optimizer_of_its_own(tiny_model):
    roomy, small = (start(tiny_model, torch.bfloat16, zero_stage=1) for _ in range(2))
    b = batches(roomy, sequences())
    roomy.budget.slots = 17
    with too_small_for(small.engine.module, 30, "backward"):
        found, expected = small.update(b, None, Clipped()), roomy.update(b, None, Clipped())
    assert small.budget.halvings() == 2 and found.grad_norm == expected.grad_norm > 0
    assert all(torch.equal(x, y) for x, y in zip(weights(roomy).values(), weights(small).values(), strict=True))


def test_passes_without_gradient_are_repeated_with_the_same_result_and_counted(tiny_model):
    """Old log-probs, the scoring of probes, and the reference's pass within the update."""
    roomy, small = (start(tiny_model, kl=K3(coefficient=0.05)) for _ in range(2))
    b = batches(roomy, sequences())
    asked = [s.prompt_ids + s.response_ids for s in sequences()]
    scored, old = roomy.token_logprobs(asked), roomy.logprobs(b)
    with too_small_for(small.engine.module, 30, "without gradient") as failed:
        for values, expected in zip(small.token_logprobs(asked), scored, strict=True):
            assert values == pytest.approx(expected, abs=1e-5)
        assert failed
        failed.clear()
        small.budget.slots = 70
        found = small.logprobs(b)
        assert failed and [tuple(values.shape) for values in found] == [tuple(batch.tokens_RL.shape) for batch in b]
        torch.testing.assert_close(found, old, atol=1e-5, rtol=1e-5)
    small.budget.slots = 70
    with too_small_for(small.reference.policy, 30, "without gradient") as failed:
        found, expected = small.update(b, old, Clipped()), roomy.update(b, old, Clipped())
        assert failed and found.grad_norm == pytest.approx(expected.grad_norm, rel=1e-5)
    assert small.budget.halvings() == 6  # 70 slots, 35, 17, three times
    assert small.budget.halvings() == 0


def test_a_sequence_that_does_not_fit_is_told_with_the_keys_to_change(tiny_model):
    actor = start(tiny_model)
    b = batches(actor, sequences())
    with (
        too_small_for(actor.engine.module, 5),
        pytest.raises(OutOfMemory, match=r"a single sequence of \d+ tokens: set trainer.gradient_checkpointing=true"),
    ):
        actor.update(b, None, Clipped())
