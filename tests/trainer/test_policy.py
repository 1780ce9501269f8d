"""The exact call the actor makes, against one sequence at a time through Hugging Face's own head."""

from __future__ import annotations

import dataclasses
import math

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from transformers import Qwen2Config, Qwen2ForCausalLM

from ada.trainer import policy as policy_module
from ada.trainer.batching import pack, to_batch
from ada.trainer.policy import Head, Policy, load_policy
from tests.trainer.plain import law, load, sequences


def run(policy: Policy, batches, temperature=1.0):
    """Log-probs and entropies by sequence."""
    found = {}
    for b in batches:
        lp, h = policy(b.tokens_RL, b.positions_RL, b.mask_RL, temperature, False)
        for index in set(b.sequence_RL.flatten().tolist()) - {-1}:
            here = b.mask_RL & (b.sequence_RL == index)
            found[index] = (lp[here], h[here])
        assert not lp[~b.mask_RL].any()
    return found


@pytest.mark.parametrize("temperature", [1.0, 0.6])
@pytest.mark.parametrize(("budget", "row"), [(1, 1), (200, 60), (10_000, 10_000)])
@torch.no_grad()
def test_log_probs_do_not_depend_on_padding_packing_or_mates_M04_M05(tiny_model, temperature, budget, row):
    items = sequences()
    found = run(load_policy(tiny_model, torch.float32), pack(items, 0, 1, budget, row), temperature)
    plain = load(tiny_model)
    for i, s in enumerate(items):
        expected, entropy = law(plain, s, temperature)
        torch.testing.assert_close(found[i][0], expected, atol=1e-5, rtol=1e-5)
        torch.testing.assert_close(found[i][1], entropy, atol=1e-5, rtol=1e-5)


@torch.no_grad()
def test_a_sequence_cannot_see_its_neighbour_in_the_row_M05(tiny_model):
    first, second = sequences(2)
    other = dataclasses.replace(first, prompt_ids=tuple((t + 1) % 1600 for t in first.prompt_ids))
    policy = load_policy(tiny_model, torch.float32)
    rows = [run(policy, [to_batch([[0, 1]], [x, second], 1, 2)]) for x in (first, other)]
    assert not torch.equal(rows[0][0][0], rows[1][0][0])
    assert torch.equal(rows[0][1][0], rows[1][1][0])


def test_dropout_is_off_even_in_training_mode_P03(tiny_model):
    policy = load_policy(tiny_model, torch.float32).train()
    batches = pack(sequences(), 0, 1, 100, 50)
    with torch.no_grad():
        before = run(policy, batches)
    after = run(policy, batches)  # with gradients: another code path in attention
    assert all(torch.equal(before[i][0], after[i][0]) for i in before)


@torch.no_grad()
def test_log_softmax_is_float32_under_bfloat16_weights_P04():
    torch.manual_seed(0)
    linear = torch.nn.Linear(4, 32000, bias=True, dtype=torch.bfloat16)
    linear.weight.zero_()
    linear.bias.copy_(3 * torch.randn(32000))
    logprobs, entropy = Head(linear)(torch.zeros(8, 4, dtype=torch.bfloat16), torch.arange(8), 1.0, False)
    exact = torch.log_softmax(linear.bias.double(), -1)
    assert logprobs.dtype == torch.float32
    assert (logprobs - exact[:8]).abs().max() < 1e-5
    assert entropy[0].item() == pytest.approx(-(exact.exp() * exact).sum().item(), abs=1e-4)


def test_entropy_of_a_uniform_law_and_its_gradient():
    linear = torch.nn.Linear(2, 4, bias=False)
    torch.nn.init.zeros_(linear.weight)
    _, h = Head(linear)(torch.ones(3, 2), torch.zeros(3, dtype=torch.int64), 1.0, True)
    assert h.tolist() == pytest.approx([math.log(4)] * 3)
    linear.weight.data[:, 0] = torch.tensor([2.0, 0, 0, 0])
    states = torch.tensor([[1.0, 0.0]], requires_grad=True)
    _, h = Head(linear)(states, torch.zeros(1, dtype=torch.int64), 1.0, True)
    h.sum().backward()

    def entropy(x: float) -> float:
        law = [e / (math.exp(2 * x) + 3) for e in (math.exp(2 * x), 1, 1, 1)]
        return -sum(p * math.log(p) for p in law)

    assert states.grad[0, 0].item() == pytest.approx((entropy(1 + 1e-5) - entropy(1 - 1e-5)) / 2e-5, rel=1e-4)


class Wide(TorchDispatchMode):
    """The most rows of any tensor of so many columns that is made inside, the weights' transposes aside."""

    def __init__(self, columns: int):
        super().__init__()
        self.columns, self.rows = columns, 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        made = function(*args, **(kwargs or {}))
        for tensor in made if isinstance(made, tuple | list) else [made]:
            if function is not torch.ops.aten.t.default and isinstance(tensor, torch.Tensor) and tensor.shape[-1:] == (self.columns,):
                self.rows = max(self.rows, tensor.numel() // self.columns)
        return made


def test_pieces_of_the_head_change_neither_values_nor_gradients_Y02(monkeypatch):
    """And between forward and backward no tensor as wide as the vocabulary is kept, nor does one of more tokens than a piece ever stand."""
    torch.manual_seed(0)
    head = Head(torch.nn.Linear(4, 1600))
    states, targets = torch.randn(30, 4, requires_grad=True), torch.randint(1600, (30,))
    results, kept, tallest = [], [], []
    for logits_at_once in (2**26, 7 * 1600):
        monkeypatch.setattr(policy_module, "LOGITS_AT_ONCE", logits_at_once)
        saved, wide = [], Wide(1600)
        with wide, torch.autograd.graph.saved_tensors_hooks(lambda t, saved=saved: (saved.append(t.shape), t)[1], lambda t: t):
            logprobs, entropy = head(states, targets, 0.8, True)
        with wide:
            gradients = torch.autograd.grad((logprobs + 2 * entropy).sum(), [states, *head.parameters()])
        tallest.append(wide.rows)
        results.append([logprobs, entropy, *gradients])
        kept.append(torch.Size([30, 1600]) in saved or torch.Size([7, 1600]) in saved)
    for whole, pieces in zip(*results, strict=True):
        torch.testing.assert_close(whole, pieces, atol=1e-5, rtol=1e-5)
    assert kept == [True, False] and tallest == [30, 7]


def test_prompt_tokens_get_no_logits_Y02():
    """Of 3 rows of 20 tokens with 5, 1 and no response tokens: 6 rows as wide as the vocabulary, and no more."""
    sizes = {"vocab_size": 97, "hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 1}
    policy = Policy(Qwen2ForCausalLM(Qwen2Config(**sizes, num_attention_heads=2, num_key_value_heads=1)))
    mask = torch.zeros(3, 20, dtype=torch.bool)
    mask[0, 12:17] = mask[1, 19] = True
    with Wide(97) as wide, torch.no_grad():
        policy(torch.randint(5, (3, 20)), torch.arange(20).expand(3, 20), mask, 1.0, False)
    assert wide.rows == 6


def test_a_head_that_is_more_than_linear_is_refused(tiny_model, tmp_path):
    import json

    config = json.loads((tiny_model / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps(config | {"final_logit_softcapping": 30.0}))
    with pytest.raises(ValueError, match="final_logit_softcapping is 30"):
        load_policy(tmp_path, torch.float32)
