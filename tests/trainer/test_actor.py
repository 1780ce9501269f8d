"""The actor on one rank. What takes two is in test_two_ranks.py."""

from __future__ import annotations

import dataclasses
import os

import pytest
import torch
from transformers import AutoModelForCausalLM

from ada.trainer.actor import Actor
from ada.trainer.aggregation.sequence_mean import SequenceMean
from ada.trainer.batching import pack
from ada.trainer.config import TrainerConfig, learning_rate
from ada.trainer.corrections.tis import TIS
from ada.trainer.kl.k1 import K1
from ada.trainer.kl.k2 import K2
from ada.trainer.kl.k3 import K3
from ada.trainer.losses.clipped import Clipped
from ada.trainer.losses.raft import RAFT
from tests.trainer.plain import law, load, sequences, train

pytestmark = pytest.mark.slow  # each test starts DeepSpeed


def recipe(**changes) -> TrainerConfig:
    # A large epsilon makes Adam's step a smooth function of the gradient; with 1e-8 it is the sign of rounding errors where that is 0.
    keys = {"epsilon": 1e-3, "learning_rate": 1e-3, "beta2": 0.95, "weight_decay": 0.1, "max_grad_norm": 0.5}
    keys |= {"micro_batch_tokens": 70, "row_tokens": 40}
    return TrainerConfig(**(keys | changes))


def start(folder, dtype=torch.float32, temperature=1.0, **changes) -> Actor:
    return Actor.start(folder, recipe(**changes), dtype, temperature)


def batches(actor: Actor, items):
    return pack(items, 0, 1, actor.trainer.micro_batch_tokens, actor.trainer.row_tokens)


def weights(actor: Actor) -> dict[str, torch.Tensor]:
    return {name: w.clone() for name, w in actor.named_weights()}


def same(a: dict[str, torch.Tensor], b: dict[str, torch.Tensor]) -> bool:
    return a.keys() == b.keys() and all(torch.equal(a[k], b[k]) for k in a)


def silent(items):
    return [dataclasses.replace(s, advantage=0.0) for s in items]


@pytest.mark.parametrize("stage", [0, 1, 2, 3])
def test_two_updates_equal_plain_torch_L01_L05(tiny_model, stage):
    items = sequences()
    regularised = {"entropy_coefficient": 0.01, "kl": K3(coefficient=0.05), "correction": TIS(cap=2.0)}
    actor = start(tiny_model, zero_stage=stage, temperature=0.8, **regularised)
    b = batches(actor, items)
    assert len(b) > 3
    old = actor.logprobs(b)
    stats = [actor.update(b, old, Clipped()) for _ in range(2)]
    expected, final = train(tiny_model, items, 2, 1e-3, 0.8, 0.01, 0.5, kl=0.05, cap=2.0)
    for got, want in zip(stats, expected, strict=True):
        assert got.loss == pytest.approx(want["loss"], rel=1e-5, abs=1e-6)  # its terms, of the order of 1, nearly cancel
        assert got.grad_norm == pytest.approx(want["norm"], rel=1e-5)
        assert got.entropy == pytest.approx(want["entropy"], rel=1e-5)
        assert got.diagnostics["kl"] == pytest.approx(want["kl"], rel=1e-4, abs=1e-9)
    assert stats[1].diagnostics["kl"] > 1e-4
    moved = weights(actor)
    assert moved.keys() == final.keys()
    for name, w in final.items():
        torch.testing.assert_close(moved[name], w, atol=2e-6, rtol=1e-5)
    assert actor.updates == 2


@pytest.mark.parametrize("checkpointing", [False, True])
def test_first_ratio_is_exactly_one_and_the_second_is_not_L07_P03(tiny_model, checkpointing):
    actor = start(tiny_model, learning_rate=0.05, gradient_checkpointing=checkpointing)
    b = batches(actor, sequences())
    old = actor.logprobs(b)
    first, second = actor.update(b, old, Clipped()), actor.update(b, old, Clipped())
    assert first.diagnostics == {"clip_fraction": 0.0, "ratio": 1.0}
    assert second.diagnostics["clip_fraction"] > 0.1


def test_without_old_log_probs_the_pass_itself_gives_them(tiny_model):
    given, own = start(tiny_model), start(tiny_model)
    b = batches(given, sequences())
    assert given.update(b, given.logprobs(b), Clipped()) == own.update(b, None, Clipped())
    assert same(weights(given), weights(own))


@pytest.mark.parametrize(("budget", "row", "reverse"), [(1, 1, False), (10_000, 10_000, True), (120, 60, True)])
@pytest.mark.parametrize("aggregation", [{}, {"aggregation": SequenceMean()}])
def test_gradient_does_not_depend_on_split_order_or_packing_L01(tiny_model, budget, row, reverse, aggregation):
    items = sequences()
    reference, other = start(tiny_model, **aggregation), start(tiny_model, micro_batch_tokens=budget, row_tokens=row, **aggregation)
    a = reference.update(batches(reference, items), None, Clipped())
    b = other.update(batches(other, items[::-1] if reverse else items), None, Clipped())
    assert b.grad_norm == pytest.approx(a.grad_norm, rel=1e-5)
    for x, y in zip(weights(reference).values(), weights(other).values(), strict=True):
        torch.testing.assert_close(x, y, atol=2e-6, rtol=1e-5)


def test_statistics_are_those_of_the_pooled_tokens_N02(tiny_model):
    items = sequences()
    actor = start(tiny_model, temperature=0.8)
    stats = actor.update(batches(actor, items), None, Clipped())
    with torch.no_grad():
        laws = [law(load(tiny_model), s, 0.8) for s in items]
    gaps = torch.cat([lp - torch.tensor(s.sampler_logprobs) for (lp, _), s in zip(laws, items, strict=True)]).abs()
    assert stats.tokens == len(gaps)
    assert stats.sequences == 11
    assert stats.mismatch_abs_mean == pytest.approx(gaps.mean().item(), rel=1e-5)
    assert stats.mismatch_abs_max == pytest.approx(gaps.max().item(), rel=1e-5)
    assert stats.entropy == pytest.approx(torch.cat([h for _, h in laws]).mean().item(), rel=1e-5)


def test_tokens_marked_by_entropy_learn_in_proportion_to_it(tiny_model):
    """RL-ZVP's advantages from transformers' own entropies; at ratio 1 the loss is minus their mean over tokens."""
    items = [dataclasses.replace(s, advantage=a, by_entropy=b) for s, a, b in zip(sequences(3), (0.1, -0.1, 0.5), (1, 1, 0), strict=True)]
    with torch.no_grad():
        right, wrong, plain = (law(load(tiny_model), s, 0.8)[1] for s in items)
    advantages = torch.cat([0.1 * right, -0.1 * (wrong.max() - wrong), torch.full_like(plain, 0.5)])
    actor = start(tiny_model, temperature=0.8)
    assert actor.update(batches(actor, items), None, Clipped()).loss == pytest.approx(-advantages.mean().item(), rel=1e-5)


def test_zero_learning_rate_moves_nothing(tiny_model):
    actor = start(tiny_model, learning_rate=0.0)
    before = weights(actor)
    assert actor.update(batches(actor, sequences()), None, Clipped()).grad_norm > 0
    assert same(before, weights(actor))


def test_zero_advantage_moves_nothing_even_with_momentum(tiny_model):
    actor = start(tiny_model)
    actor.update(batches(actor, sequences()), None, Clipped())
    before = weights(actor)
    stats = actor.update(batches(actor, silent(sequences())), None, Clipped())
    assert (stats.skipped, stats.grad_norm, actor.updates) == (True, 0.0, 1)
    assert actor.update([], None, Clipped()).skipped
    assert same(before, weights(actor))


@pytest.mark.parametrize(("loss", "changes"), [(RAFT(), {}), (Clipped(), {"entropy_coefficient": 0.01})])
def test_zero_advantage_does_move_where_something_else_pulls(tiny_model, loss, changes):
    actor = start(tiny_model, **changes)
    before = weights(actor)
    assert not actor.update(batches(actor, silent(sequences())), None, loss).skipped
    assert not same(before, weights(actor))


@pytest.mark.parametrize("stage", [0, 3])
@pytest.mark.parametrize("kl", [K1, K2, K3], ids=lambda kl: kl.__name__)
def test_divergence_alone_brings_the_policy_back_to_its_reference_L04(tiny_model, kl, stage):
    """First pushed away by an ordinary update, then trained on zero advantages, with two coefficients."""
    norms = []
    for coefficient in (0.1, 0.2):
        actor = start(tiny_model, kl=kl(coefficient=coefficient), zero_stage=stage, weight_decay=0.0, beta1=0.0, max_grad_norm=1e9)
        b = batches(actor, sequences())
        assert actor.update(b, None, Clipped()).diagnostics["kl"] == 0.0
        reference = [actor.reference.logprobs(batch, 1.0) for batch in b]
        quiet = batches(actor, silent(sequences()))

        def distance(actor=actor, b=b, reference=reference) -> float:
            return sum((r - now).abs().sum().item() for r, now in zip(reference, actor.logprobs(b), strict=True))

        away = distance()
        norms.append(actor.update(quiet, None, Clipped()).grad_norm)
        assert 0 < distance() < away
    assert norms[1] == pytest.approx(2 * norms[0], rel=1e-4)


def test_old_log_probs_from_the_sampler_need_no_pass_and_set_the_ratio(tiny_model):
    actor = start(tiny_model, old_logprobs="from_sampler", zero_stage=0)
    items = sequences()
    b = batches(actor, items)
    assert all(old is batch.sampler_logprobs_RL for old, batch in zip(actor.old_logprobs(b), b, strict=True))
    stats = actor.update(b, None, RAFT())
    with torch.no_grad():
        gaps = torch.cat([law(load(tiny_model), s, 1.0)[0] - torch.tensor(s.sampler_logprobs) for s in items])
    assert stats.diagnostics["ratio"] == pytest.approx(gaps.exp().mean().item(), rel=1e-4)
    assert stats.mismatch_abs_mean == pytest.approx(gaps.abs().mean().item(), rel=1e-5)


def test_the_ratio_of_stale_tokens_is_to_what_they_were_drawn_with(tiny_model):
    """Whole responses of one group, and the first two tokens of the others: a correction leaves them alone, and corrects the fresh ones."""
    items = [dataclasses.replace(s, stale=len(s.response_ids) if s.group == 1 else min(2, len(s.response_ids))) for s in sequences()]
    with torch.no_grad():
        gaps = [law(load(tiny_model), s, 1.0)[0] - torch.tensor(s.sampler_logprobs) for s in items]
    stored = torch.cat([gap[: s.stale] for gap, s in zip(gaps, items, strict=True)])
    fresh = torch.cat([gap[s.stale :] for gap, s in zip(gaps, items, strict=True)])
    assert len(stored) and len(fresh)
    cap = 1.5  # a stale token weighs exactly 1
    for first in (True, False):
        actor = start(tiny_model, correction=TIS(cap=cap))
        b = batches(actor, items)
        stats = actor.update(b, None if first else actor.old_logprobs(b), RAFT())
        assert stats.diagnostics["ratio"] == pytest.approx((stored.exp().sum().item() + len(fresh)) / stats.tokens, rel=1e-4)
        assert stats.stale_tokens == len(stored) and stats.tokens == len(stored) + len(fresh)
        capped = (fresh.exp() > cap).sum().item()
        assert abs(stats.diagnostics["correction_capped_fraction"] * stats.tokens - capped) <= 1
        assert stats.stale_log_ratio_abs_mean == pytest.approx(stored.abs().mean().item(), rel=1e-5)
        assert stats.mismatch_abs_mean == pytest.approx(fresh.abs().mean().item(), rel=1e-5)
        assert stats.mismatch_abs_max == pytest.approx(fresh.abs().max().item(), rel=1e-5)


def test_entropy_bonus_raises_entropy(tiny_model):
    actor = start(tiny_model, entropy_coefficient=1.0, weight_decay=0.0)
    b = batches(actor, silent(sequences()))
    first, *_, last = (actor.update(b, None, Clipped()).entropy for _ in range(4))
    assert last > first + 0.05


def test_torch_is_left_as_it_was_for_the_engine_beside(tiny_model):
    linear = torch.nn.functional.linear
    actor = start(tiny_model)
    b = batches(actor, sequences())
    actor.update(b, actor.logprobs(b), Clipped())
    assert torch.nn.functional.linear is linear


def test_an_incomplete_update_is_refused_L01(tiny_model):
    actor = start(tiny_model)
    with pytest.raises(ValueError, match="response tokens over all ranks"):
        actor.update(batches(actor, sequences())[1:], None, Clipped())


class InfiniteSlope:
    """Its value is 0, its gradient infinite."""

    name = "infinite_slope"

    def per_token(self, logprobs, old_logprobs, batch):
        return (logprobs - logprobs.detach()).sqrt(), {}


@pytest.mark.parametrize(("stage", "dtype"), [(0, torch.float32), *((s, d) for s in (1, 2, 3) for d in (torch.float32, torch.bfloat16))])
@pytest.mark.parametrize("what", ["gradient", "loss"])
def test_a_step_that_is_not_finite_is_not_taken(tiny_model, stage, dtype, what):
    """Nothing of it stays: the updates after it are those of an actor that never saw it."""
    actor, other = (start(tiny_model, dtype, zero_stage=stage) for _ in range(2))
    b = batches(actor, sequences())
    for a in (actor, other):
        assert a.update(b, None, Clipped()).not_finite is None
    before = weights(actor)
    old = [o - 1e4 for o in actor.logprobs(b)]  # the ratio overflows
    stats = actor.update(b, old, Clipped()) if what == "loss" else actor.update(b, None, InfiniteSlope())
    assert (stats.not_finite, stats.skipped, actor.updates) == (what, True, 1)
    assert same(before, weights(actor))
    assert actor.update(b, None, Clipped()) == other.update(b, None, Clipped())
    assert same(weights(actor), weights(other))


@pytest.mark.parametrize("stage", [1, 2, 3])
def test_bfloat16_weights_follow_float32_masters_L06(tiny_model, stage):
    """With beta1 = beta2 = 0 a step moves a weight by learning_rate * sign(gradient): here by 2^-10, which near 1 is lost in bfloat16."""
    changes = {"learning_rate": 2.0**-10, "beta1": 0.0, "beta2": 0.0, "epsilon": 1e-12, "weight_decay": 0.0}
    actor = start(tiny_model, torch.bfloat16, zero_stage=stage, **changes)
    name = "model.norm.weight"  # all ones at the start; bfloat16 has steps of 2^-8 below 1 and 2^-7 above
    b = batches(actor, sequences(2))
    before = weights(actor)[name]
    for _ in range(16):
        actor.update(b, None, Clipped())
    after = weights(actor)[name]
    assert before.dtype == after.dtype == torch.bfloat16
    assert (before == 1).all()
    assert (after.float() - 1).abs().max() == 2.0**-6  # a weight whose gradient kept its sign has come all the way


def test_bfloat16_keeps_rotary_frequencies_float32_P04(tiny_model):
    actor = start(tiny_model, torch.bfloat16)
    exact = load(tiny_model).model.rotary_emb.inv_freq
    assert torch.equal(actor.engine.module.model.model.rotary_emb.inv_freq, exact)


def test_bfloat16_without_sharding_is_beyond_deepspeed(tiny_model):
    """So ada/recipe/checks.py refuses it. Where this fails, DeepSpeed has learned it."""
    with pytest.raises(NotImplementedError, match="unsupported mix of model_dtype=torch.bfloat16 and grad_accum_dtype=torch.float32"):
        start(tiny_model, torch.bfloat16, zero_stage=0)


@pytest.mark.parametrize("stage", [0, 3])
def test_named_weights_are_whole_and_under_their_names_W05(tiny_model, stage):
    plain = AutoModelForCausalLM.from_pretrained(tiny_model)
    lent = [(name, tuple(w.shape), w.clone()) for name, w in start(tiny_model, zero_stage=stage).named_weights()]
    assert [(name, shape) for name, shape, _ in lent] == [(name, tuple(p.shape)) for name, p in plain.named_parameters()]
    assert all(torch.equal(w, plain.get_parameter(name)) for name, _, w in lent)


def test_saved_folder_loads_and_is_the_trained_model(tiny_model, tmp_path):
    actor = start(tiny_model)
    actor.update(batches(actor, sequences()), None, Clipped())
    actor.save_hf(tmp_path / "hf")
    saved = AutoModelForCausalLM.from_pretrained(tmp_path / "hf")
    assert same(weights(actor), {n: p.detach() for n, p in saved.named_parameters()})
    assert saved.lm_head.weight is saved.model.embed_tokens.weight
    assert saved.config.attention_dropout == 0.1  # of the model, not the trainer's
    assert sorted(os.listdir(tmp_path / "hf")) == sorted(os.listdir(tiny_model))
    from safetensors import safe_open

    with safe_open(tmp_path / "hf" / "model.safetensors", "pt") as f:
        assert "lm_head.weight" not in f.keys()  # noqa: SIM118


def test_token_logprobs_are_at_temperature_one(tiny_model):
    actor = start(tiny_model, temperature=0.5)
    asked = [(5, 6, 7, 8), (9, 10), (11,) * 30, (3,)]
    found = actor.token_logprobs(asked[:3])
    plain = load(tiny_model)
    for tokens, values in zip(asked, found, strict=False):
        with torch.no_grad():
            law_ = torch.log_softmax(plain(torch.tensor([tokens])).logits[0], -1)
        assert values == pytest.approx([law_[t - 1, tokens[t]].item() for t in range(1, len(tokens))], abs=1e-4)


def state_of(actor: Actor) -> dict[str, torch.Tensor]:
    return {name: tensor for _, layer in actor.state(lambda number: True) for name, tensor in layer.items()}


@pytest.mark.parametrize(("stage", "dtype"), [(0, torch.float32), *((s, d) for s in (1, 2, 3) for d in (torch.float32, torch.bfloat16))])
def test_resume_continues_bit_for_bit_C07(tiny_model, stage, dtype):
    changes = {"zero_stage": stage, "warmup_updates": 3}
    straight, resumed = (start(tiny_model, dtype, **changes) for _ in range(2))
    b = batches(straight, sequences())
    straight.update(b, None, Clipped())
    saved = state_of(straight)
    resumed.load_state(1, saved.__getitem__)
    assert same(weights(straight), weights(resumed)) and same(saved, state_of(resumed))
    assert straight.update(b, None, Clipped()) == resumed.update(b, None, Clipped())
    assert same(weights(straight), weights(resumed)) and same(state_of(straight), state_of(resumed))
    assert resumed.updates == 2


def test_the_state_before_the_first_update_is_the_model(tiny_model):
    fresh, resumed = start(tiny_model), start(tiny_model, zero_stage=1)
    saved = state_of(fresh)
    assert all(torch.equal(saved[f"model.{name}/master"], w) for name, w in weights(fresh).items())
    assert not any(tensor.any() for name, tensor in saved.items() if not name.endswith("/master"))
    resumed.load_state(0, saved.__getitem__)
    b = batches(fresh, sequences())
    assert fresh.update(b, None, Clipped()).grad_norm == pytest.approx(resumed.update(b, None, Clipped()).grad_norm, rel=1e-6)


def test_a_stage_continues_where_another_was(tiny_model):
    b = pack(sequences(), 0, 1, 70, 40)
    sharded, whole = start(tiny_model, zero_stage=3), start(tiny_model, zero_stage=0)
    sharded.update(b, None, Clipped())
    saved = state_of(sharded)
    whole.load_state(1, saved.__getitem__)
    assert same(saved, state_of(whole))
    sharded.update(b, None, Clipped())
    whole.update(b, None, Clipped())
    for name, w in weights(sharded).items():
        torch.testing.assert_close(weights(whole)[name], w, atol=1e-7, rtol=1e-6)


def test_a_state_of_another_model_is_refused_C06(tiny_model):
    saved = state_of(start(tiny_model))
    with pytest.raises(KeyError, match="norm"):
        start(tiny_model).load_state(0, {n: t for n, t in saved.items() if "norm" not in n}.__getitem__)
    with pytest.raises(ValueError, match=r"the checkpoint has shape \[1\], the model"):
        start(tiny_model).load_state(0, dict.fromkeys(saved, torch.zeros(1)).__getitem__)


def test_learning_rate_warms_up_linearly():
    r = recipe(learning_rate=1.0, warmup_updates=4)
    assert [learning_rate(r, u) for u in range(6)] == [0.25, 0.5, 0.75, 1.0, 1.0, 1.0]
    assert learning_rate(recipe(learning_rate=1.0), 0) == 1.0
