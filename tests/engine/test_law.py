"""The sampling law and the fingerprint, on numbers worked out by hand."""

from __future__ import annotations

import math

import pytest
import torch

from ada.engine.fingerprint import Fingerprint
from ada.engine.generation import Generation, invert_cdf, processed_logprobs

LOGITS = torch.tensor([0.5, 0.3, 0.15, 0.05]).log()[None] + 3


@pytest.mark.parametrize(
    ("law", "probabilities"),
    [
        (Generation(), [0.5, 0.3, 0.15, 0.05]),
        (Generation(temperature=0.5), [0.25 / 0.365, 0.09 / 0.365, 0.0225 / 0.365, 0.0025 / 0.365]),  # squares, renormalised
        (Generation(top_k=2), [0.625, 0.375, 0, 0]),
        (Generation(top_p=0.7), [0.625, 0.375, 0, 0]),
        (Generation(top_p=0.4), [1, 0, 0, 0]),
        (Generation(top_k=3, top_p=0.6), [0.625, 0.375, 0, 0]),  # of 0.95: 0.526, 0.842
        (Generation(top_k=3, top_p=0.5), [1, 0, 0, 0]),  # top_k came first: 0.5 / 0.95 is already above 0.5
    ],
)
def test_the_law(law: Generation, probabilities: list[float]) -> None:
    assert processed_logprobs(LOGITS, law).exp()[0].tolist() == pytest.approx(probabilities, abs=1e-6)


def test_a_number_picks_the_token_whose_share_it_falls_into() -> None:
    shares = torch.tensor([0.0, 0.25, 0.0, 0.5, 0.25, 0.0]).log().expand(6, -1)
    numbers = torch.tensor([0.0, 0.2499, 0.2501, 0.7499, 0.7501, math.nextafter(1, 0)], dtype=torch.float64)
    assert invert_cdf(shares, numbers).tolist() == [1, 1, 3, 3, 4, 4]  # never one of probability 0


def test_drawn_frequencies_are_the_law() -> None:
    draws, law = 40_000, Generation(temperature=0.5)
    uniforms = torch.rand(draws, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    tokens = invert_cdf(processed_logprobs(LOGITS, law).expand(draws, -1), uniforms)
    for token, probability in enumerate((0.25 / 0.365, 0.09 / 0.365, 0.0225 / 0.365, 0.0025 / 0.365)):
        deviation = math.sqrt(probability * (1 - probability) / draws)
        assert (tokens == token).float().mean().item() == pytest.approx(probability, abs=4 * deviation)


def fingerprint(**tensors: torch.Tensor) -> str:
    of = Fingerprint()
    for name, tensor in tensors.items():
        of.add(name, tensor)
    return of.hexdigest()


def test_a_fingerprint_sees_names_shapes_and_the_last_bit_but_not_the_order() -> None:
    a, b = torch.arange(6.0).reshape(2, 3), torch.ones(3, dtype=torch.bfloat16)
    last_bit = a.clone()
    last_bit[1, 2] = torch.nextafter(last_bit[1, 2], torch.tensor(9.0))
    assert fingerprint(a=a, b=b) == fingerprint(b=b.clone(), a=a.clone())
    others = [
        fingerprint(a=last_bit, b=b),
        fingerprint(a=a.reshape(3, 2), b=b),
        fingerprint(b=a, a=b),
        fingerprint(a=a),
        fingerprint(a=a, b=b.float()),
    ]
    assert fingerprint(a=a, b=b) not in others and len(set(others)) == len(others)
