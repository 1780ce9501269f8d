from __future__ import annotations

import io
import random

import numpy as np
import torch

from ada.checkpoint.randomness import random_state, restore_random_state


def drawn() -> tuple[float, ...]:
    return (random.random(), random.gauss(0, 1), *np.random.rand(2), np.random.randn(), *torch.rand(2).tolist(), torch.randn(1).item())


def test_all_three_generators_go_on_where_they_were_C08():
    """Also amidst the pairs in which Python and numpy make their normal numbers."""
    for seed in (0, 7):
        random.seed(seed), np.random.seed(seed), torch.manual_seed(seed)
        drawn()
        buffer = io.BytesIO()
        torch.save(random_state(), buffer)
        expected = [drawn() for _ in range(3)]
        random.seed(99), np.random.seed(99), torch.manual_seed(99)
        assert drawn() != expected[0]
        buffer.seek(0)
        restore_random_state(torch.load(buffer, weights_only=True))
        assert [drawn() for _ in range(3)] == expected
