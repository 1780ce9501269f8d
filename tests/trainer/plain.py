"""What the trainer must equal: one process, one sequence at a time, Hugging Face's own logits, torch's AdamW. Shares no code with ada."""

from __future__ import annotations

import random
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, PreTrainedModel

from ada.types import Sequence

CLIP_LOW, CLIP_HIGH = 0.2, 0.28


def sequences(count: int = 11, seed: int = 3, vocabulary: int = 1600) -> list[Sequence]:
    r = random.Random(seed)
    made = []
    for i in range(count):
        prompt, response = ([r.randrange(vocabulary) for _ in range(r.randint(2, n))] for n in (6, 17))
        made.append(
            Sequence(tuple(prompt), tuple(response), tuple(-r.random() * 8 for _ in response), r.choice([-1.5, -0.5, 0.5, 2.0]), i // 3)
        )
    return made


def load(folder: Path, dtype: torch.dtype = torch.float32) -> PreTrainedModel:
    return AutoModelForCausalLM.from_pretrained(folder, dtype=dtype, attn_implementation="eager").eval()


def law(model: PreTrainedModel, s: Sequence, temperature: float) -> tuple[torch.Tensor, torch.Tensor]:
    """Log-probs of the response's tokens, and the entropies."""
    logits = model(torch.tensor([s.prompt_ids + s.response_ids])).logits[0, len(s.prompt_ids) - 1 : -1].float() / temperature
    p = torch.softmax(logits, -1)
    return p[range(len(s.response_ids)), s.response_ids].log(), -(p * p.log()).sum(-1)


def train(
    folder: Path,
    items: list[Sequence],
    updates: int,
    learning_rate: float,
    temperature: float,
    entropy: float,
    max_norm: float,
    *,
    kl: float = 0.0,
    cap: float | None = None,
):
    """Loss, gradient norm, mean entropy and mean k3 of each update, and the weights after the last.

    `kl`: coefficient of k3 to the model in `folder`; `cap`: of the importance weight of old against sampler.
    """
    model = load(folder)
    optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate, betas=(0.9, 0.95), eps=1e-3, weight_decay=0.1)
    with torch.no_grad():
        old = [law(model, s, temperature)[0] for s in items]
    weights = [(o - torch.tensor(s.sampler_logprobs)).exp().clamp(max=cap) if cap else 1.0 for o, s in zip(old, items, strict=True)]
    total, record = sum(len(s.response_ids) for s in items), []
    for _ in range(updates):
        optimizer.zero_grad()
        loss, entropies, kls = torch.tensor(0.0), [], []
        for s, before, weight in zip(items, old, weights, strict=True):
            logprobs, h = law(model, s, temperature)
            ratio = (logprobs - before).exp()
            gain = torch.minimum(ratio * s.advantage, ratio.clamp(1 - CLIP_LOW, 1 + CLIP_HIGH) * s.advantage)
            k3 = (before - logprobs).exp() - (before - logprobs) - 1  # the reference is the policy at the start
            loss = loss - ((weight * gain).sum() + entropy * h.sum() - kl * k3.sum()) / total
            kls.append(k3.detach())
            entropies.append(h.detach())
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        optimizer.step()
        record.append(
            {"loss": loss.item(), "norm": norm.item(), "entropy": torch.cat(entropies).mean().item(), "kl": torch.cat(kls).mean().item()}
        )
    return record, {name: p.detach() for name, p in model.named_parameters()}
