"""Weights of tokens on which sampler and trainer disagree, against numbers worked out by hand."""

from __future__ import annotations

import dataclasses

import pytest
import torch

from ada.config import methods
from ada.trainer.corrections.icepop import IcePop
from ada.trainer.corrections.tis import TIS
from tests.trainer.test_losses import batch

RATIOS = [0.25, 0.5, 1.0, 3.0, 6.0]  # pi_old / pi_sampler


def weights(correction, ratios=RATIOS, mask=None):
    sampler = torch.tensor([[-1.0] * len(ratios)])
    b = dataclasses.replace(batch([1.0] * len(ratios), mask=mask), sampler_logprobs_RL=sampler)
    old = sampler + torch.tensor([ratios]).log()
    old.requires_grad_()
    found, diagnostics = correction.weights(old, b)
    assert not found.requires_grad
    ((name, values),) = diagnostics.items()
    return found[0].tolist(), name, values[0].tolist()


@pytest.mark.parametrize(
    ("correction", "expected", "name", "acted"),
    [
        (TIS(), [0.25, 0.5, 1.0, 2.0, 2.0], "correction_capped_fraction", [0, 0, 0, 1, 1]),
        (TIS(cap=5.0), [0.25, 0.5, 1.0, 3.0, 5.0], "correction_capped_fraction", [0, 0, 0, 0, 1]),
        (IcePop(low=0.4), [0.0, 0.5, 1.0, 3.0, 0.0], "correction_masked_fraction", [1, 0, 0, 0, 1]),
        (IcePop(low=0.9, high=2.0), [0.0, 0.0, 1.0, 0.0, 0.0], "correction_masked_fraction", [1, 1, 0, 1, 1]),
    ],
)
def test_weights_and_what_they_acted_on(correction, expected, name, acted):
    found, called, where = weights(correction)
    assert found == pytest.approx(expected, rel=1e-6)
    assert (called, where) == (name, acted)


@pytest.mark.parametrize("correction", [TIS(), IcePop()], ids=lambda c: c.name)
def test_what_lies_under_the_mask_has_no_effect_L03(correction):
    found, _, acted = weights(correction, [1.0, float("inf"), float("nan")], mask=[1, 0, 0])
    assert found == [1.0, 1.0, 1.0] and acted == [0, 0, 0]


def test_methods_are_found_by_name():
    assert methods("ada.trainer.corrections") == {"tis": TIS, "icepop": IcePop}
