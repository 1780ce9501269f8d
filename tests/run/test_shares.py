"""How a step's sequences are split into its updates."""

from __future__ import annotations

import pytest

from ada.loop import shares
from ada.types import Sequence


@pytest.mark.parametrize(
    ("groups", "updates", "expected"),
    [
        ([0, 0, 1, 2, 3], 2, [[0, 0, 1], [2, 3]]),
        ([0, 1, 2, 9, 9, 11], 2, [[0, 1, 2], [9, 9, 11]]),  # groups that are left out leave no hole: 5 prompts are 3 and 2
        ([3, 5, 6, 7], 2, [[3, 5], [6, 7]]),
        ([0, 1, 2, 3, 4], 4, [[0, 1], [2], [3], [4]]),
        ([4], 2, [[4], []]),
        ([], 2, [[], []]),
    ],
)
def test_updates_have_equally_many_prompts_of_those_trained_on(groups, updates, expected):
    split = shares([Sequence((1,), (2,), (0.0,), 1.0, group) for group in groups], updates)
    assert [[sequence.group for sequence in share] for share in split] == expected
