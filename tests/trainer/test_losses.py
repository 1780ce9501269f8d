"""Losses and aggregation against numbers worked out by hand."""

from __future__ import annotations

import math

import pytest
import torch

from ada.config import methods
from ada.trainer.aggregation.fixed_length import FixedLength
from ada.trainer.aggregation.sequence_mean import SequenceMean
from ada.trainer.aggregation.token_mean import TokenMean
from ada.trainer.losses.cispo import CISPO
from ada.trainer.losses.clipped import Clipped
from ada.trainer.losses.gspo import GSPO
from ada.trainer.losses.raft import RAFT
from ada.trainer.losses.reinforce import Reinforce
from ada.types import Batch

LOSSES = [Clipped(), Clipped(dual_clip=3.0), GSPO(), CISPO(), Reinforce(), RAFT()]


def batch(advantages, mask=None, sequence=None, tokens=1, sequences=1) -> Batch:
    a = torch.tensor([advantages])
    m = torch.ones_like(a, dtype=torch.bool) if mask is None else torch.tensor([mask], dtype=torch.bool)
    owner = torch.zeros_like(m, dtype=torch.int64) if sequence is None else torch.tensor([sequence])
    zero = torch.zeros_like(owner)
    return Batch(zero, zero, m, torch.zeros_like(a), a, torch.zeros_like(m), torch.zeros_like(m), owner, tokens, sequences)


def one_token(loss, advantage: float, ratio: float, logprob: float = -1.0) -> tuple[float, float]:
    """Loss of a token and its derivative by the token's log-prob."""
    new = torch.tensor([[logprob]], requires_grad=True)
    value, _ = loss.per_token(new, torch.tensor([[logprob - math.log(ratio)]]), batch([advantage]))
    value.sum().backward()
    return value.item(), new.grad.item()


@pytest.mark.parametrize(
    ("loss", "advantage", "ratio", "value", "slope"),
    [
        (Clipped(), 2.0, 1.0, -2.0, -2.0),
        (Clipped(), 2.0, 1.25, -2.5, -2.5),  # within clip-higher's 1.28
        (Clipped(), 2.0, 1.5, -2.56, 0.0),
        (Clipped(), 2.0, 0.5, -1.0, -1.0),  # a gain is never clipped from below
        (Clipped(), -1.0, 5.0, 5.0, 5.0),
        (Clipped(dual_clip=3.0), -1.0, 5.0, 3.0, 0.0),
        (Clipped(dual_clip=3.0), 1.0, 5.0, -1.28, 0.0),
        (Clipped(), -1.0, 0.5, 0.8, 0.0),
        (Clipped(clip_low=0.4), -1.0, 0.7, 0.7, 0.7),
        (CISPO(), 2.0, 1.5, 2.56, -2.56),  # log-prob -1: loss 1.28 * 2 * 1
        (CISPO(), 2.0, 0.5, 1.0, -1.0),
        (CISPO(clip_low=0.2), 2.0, 0.5, 1.6, -1.6),
        (Reinforce(), 2.0, 1.5, 2.0, -2.0),
        (RAFT(), -7.0, 1.5, 1.0, -1.0),
    ],
)
def test_loss_and_gradient_of_one_token_L07(loss, advantage, ratio, value, slope):
    assert one_token(loss, advantage, ratio) == pytest.approx((value, slope), rel=1e-6)


@pytest.mark.parametrize("loss", [Clipped(), GSPO(), CISPO(), Reinforce()])
def test_at_the_old_policy_the_gradient_is_the_policy_gradient_L07(loss):
    new = torch.tensor([[-1.0, -3.0]], requires_grad=True)
    value, diagnostics = loss.per_token(new, new.detach(), batch([2.0, 2.0]))
    value.sum().backward()
    assert torch.equal(diagnostics["ratio"], torch.ones(1, 2))
    assert new.grad.tolist() == [[-2.0, -2.0]]


def test_clip_fraction_counts_only_tokens_whose_gradient_is_cut():
    ratios = torch.tensor([[1.5, 1.5, 0.5, 0.5, 1.0, 5.0]])
    _, plain = Clipped().per_token(ratios.log(), torch.zeros(1, 6), batch([1.0, -1.0, 1.0, -1.0, 1.0, -1.0]))
    assert plain["clip_fraction"].tolist() == [[1, 0, 0, 1, 0, 0]]
    _, dual = Clipped(dual_clip=3.0).per_token(ratios.log(), torch.zeros(1, 6), batch([1.0, -1.0, 1.0, -1.0, 1.0, -1.0]))
    assert dual["clip_fraction"].tolist() == [[1, 0, 0, 1, 0, 1]]


def test_gspo_takes_the_geometric_mean_within_each_sequence():
    # sequence 0: log ratios 0.2 and 0.4, mean 0.3, clipped at 1.1; sequence 1: -0.1, within bounds
    new = torch.tensor([[0.2, 0.4, -0.1, 9.0]], requires_grad=True)
    loss, d = GSPO(clip_low=0.2, clip_high=0.1).per_token(
        new, torch.zeros(1, 4), batch([1.0, 1.0, 1.0, 0.0], mask=[1, 1, 1, 0], sequence=[0, 0, 1, -1])
    )
    loss.sum().backward()
    assert loss[0].tolist() == pytest.approx([-1.1, -1.1, -math.exp(-0.1), 0.0])
    assert new.grad[0].tolist() == pytest.approx([0, 0, -math.exp(-0.1), 0])
    assert d["ratio"][0, :3].tolist() == pytest.approx([math.exp(0.3), math.exp(0.3), math.exp(-0.1)])


@pytest.mark.parametrize("loss", LOSSES, ids=lambda x: type(x).__name__)
@pytest.mark.parametrize("rubbish", [float("nan"), float("inf"), 500.0])
def test_what_lies_under_the_mask_has_no_effect_L03(loss, rubbish):
    def gradients(under: float):
        new = torch.tensor([[-1.0, under, -2.0]], requires_grad=True)
        old = torch.tensor([[-1.1, 0.0, -1.5]])
        value, diagnostics = loss.per_token(new, old, batch([1.0, under, -1.0], mask=[1, 0, 1], sequence=[0, -1, 0]))
        value.sum().backward()
        return [value.detach(), new.grad, *diagnostics.values()]

    for clean, dirty in zip(gradients(0.0), gradients(rubbish), strict=True):
        assert torch.equal(clean[:, ::2], dirty[:, ::2])
        assert dirty.isfinite().all()


@pytest.mark.parametrize("loss", LOSSES, ids=lambda x: type(x).__name__)
@pytest.mark.parametrize("aggregation", [TokenMean(), SequenceMean(), FixedLength(length=4)], ids=lambda x: x.name)
def test_nothing_trainable_gives_zero_loss_and_zero_gradient_L03(loss, aggregation):
    new = torch.full((1, 2), float("nan"), requires_grad=True)
    b = batch([1.0, 1.0], mask=[0, 0], sequence=[-1, -1], tokens=0, sequences=0)
    value, _ = loss.per_token(new, new.detach(), b)
    total = (aggregation.weights(b) * value).sum()
    total.backward()
    assert total.item() == 0
    assert new.grad.tolist() == [[0, 0]]


def test_aggregation_weights():
    # of an update with 8 tokens in 3 sequences, this micro-batch has sequence 0 (3 tokens) and 2 (1 token), after their prompts
    b = batch([0.0] * 7, mask=[0, 1, 1, 1, 0, 1, 0], sequence=[0, 0, 0, 0, 2, 2, -1], tokens=8, sequences=3)
    assert TokenMean().weights(b)[0].tolist() == pytest.approx([0, 1 / 8, 1 / 8, 1 / 8, 0, 1 / 8, 0])
    assert SequenceMean().weights(b)[0].tolist() == pytest.approx([0, 1 / 9, 1 / 9, 1 / 9, 0, 1 / 3, 0])
    assert FixedLength(length=10).weights(b)[0].tolist() == pytest.approx([0, 1 / 30, 1 / 30, 1 / 30, 0, 1 / 30, 0])


def test_token_mean_over_unequal_micro_batches_L01():
    # A x=[1,1,1], B x=[4]: 7/4, not the mean of means 2.5
    parts = [(torch.tensor([[1.0, 1.0, 1.0]]), batch([0.0] * 3, tokens=4)), (torch.tensor([[4.0]]), batch([0.0], tokens=4))]
    assert sum((TokenMean().weights(b) * x).sum().item() for x, b in parts) == 1.75


def test_methods_are_found_by_name():
    assert methods("ada.trainer.losses") == {"clipped": Clipped, "gspo": GSPO, "cispo": CISPO, "reinforce": Reinforce, "raft": RAFT}
    assert set(methods("ada.trainer.aggregation")) == {"token_mean", "sequence_mean", "fixed_length"}
