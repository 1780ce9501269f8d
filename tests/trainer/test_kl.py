"""Divergence from the reference: values and gradients worked out by hand; what they do to a policy is in test_actor.py."""

from __future__ import annotations

import math

import pytest
import torch

from ada.config import methods
from ada.trainer.kl.k1 import K1
from ada.trainer.kl.k2 import K2
from ada.trainer.kl.k3 import K3
from tests.trainer.test_losses import batch

ESTIMATORS = [K1(coefficient=1.0), K2(coefficient=1.0), K3(coefficient=1.0)]


@pytest.mark.parametrize(
    ("kl", "value", "slope"),
    [
        (K1(coefficient=1.0), 1.0, 1.0),  # of the score function, not of the bare difference: here both are 1
        (K2(coefficient=1.0), 0.5, 1.0),
        (K3(coefficient=1.0), math.exp(-1), 1 - math.exp(-1)),
    ],
)
@pytest.mark.parametrize("above", [True, False])
def test_value_and_gradient_of_one_token_L04(kl, value, slope, above):
    """The policy is one nat above the reference, or below: there k1 and the slopes change sign, k3 is e - 2 and its slope 1 - e."""
    if not above:
        value, slope = {"k1": (-1.0, -1.0), "k2": (0.5, -1.0), "k3": (math.e - 2, 1 - math.e)}[kl.name]
    new = torch.tensor([[-1.0 if above else -2.0]], requires_grad=True)
    found = kl.per_token(new, torch.tensor([[-2.0 if above else -1.0]]), batch([0.0]))
    found.sum().backward()
    assert (found.item(), new.grad.item()) == pytest.approx((value, slope), rel=1e-6)


@pytest.mark.parametrize("kl", ESTIMATORS[:2], ids=lambda kl: kl.name)
def test_the_expected_gradient_is_that_of_the_divergence_L04(kl):
    """Over a law of three tokens, summed exactly. The gradient of log pi alone would come to 0."""
    logits = torch.tensor([0.3, -1.0, 0.5], requires_grad=True)
    reference = torch.tensor([0.2, 0.5, 0.3]).log()
    (exact,) = torch.autograd.grad((logits.softmax(0) * (logits.log_softmax(0) - reference)).sum(), logits)
    law = logits.log_softmax(0)
    sampled = kl.per_token(law[None], reference[None], batch([0.0] * 3))[0]
    (found,) = torch.autograd.grad((law.detach().exp() * sampled).sum(), logits)
    assert exact.abs().max() > 0.1
    assert torch.allclose(found, exact, atol=1e-6)


@pytest.mark.parametrize("kl", ESTIMATORS, ids=lambda kl: kl.name)
def test_it_is_zero_at_the_reference_L04(kl):
    new = torch.tensor([[-1.5, -0.2]], requires_grad=True)
    found = kl.per_token(new, new.detach().clone(), batch([0.0, 0.0]))
    found.sum().backward()
    assert found.tolist() == [[0, 0]] and new.grad.tolist() == [[0, 0]]


@pytest.mark.parametrize("kl", ESTIMATORS, ids=lambda kl: kl.name)
def test_what_lies_under_the_mask_has_no_effect_L03(kl):
    new = torch.tensor([[-1.0, float("nan")]], requires_grad=True)
    found = kl.per_token(new, torch.tensor([[-2.0, 900.0]]), batch([0.0, 0.0], mask=[1, 0]))
    found.sum().backward()
    assert found[0, 1].item() == 0 and new.grad[0, 1].item() == 0 and new.grad[0, 0].item() > 0


def test_methods_are_found_by_name():
    assert methods("ada.trainer.kl") == {"k1": K1, "k2": K2, "k3": K3}
