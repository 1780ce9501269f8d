from __future__ import annotations

from pathlib import Path

import pytest

from ada.trainer.not_finite import FILES, NotFinite
from ada.trainer.statistics import UpdateStats
from ada.types import Sequence

TAKEN = UpdateStats(5, 1, 0.1)
NO_GRADIENT = UpdateStats(5, 1, 0.1, skipped=True)
SPOILT = UpdateStats(5, 1, 0.1, skipped=True, not_finite="gradient")
RUN = Path("runs/mine")
SHARE = [Sequence((1, 2), (3,), (-0.5,), 2.0, 4)]


def after(limit: int, *updates: UpdateStats) -> NotFinite:
    judge = NotFinite(limit, RUN)
    for number, stats in enumerate(updates, start=1):
        judge.judge(1, number, stats, SHARE)
    return judge


def test_the_batch_is_written_aside_with_what_it_held():
    name, content = NotFinite(3, RUN).judge(12, 2, SPOILT, SHARE)
    assert name == "not-finite/step-000012-update-2.json"
    sequence = {"prompt_ids": (1, 2), "response_ids": (3,), "sampler_logprobs": (-0.5,), "advantage": 2.0, "group": 4}
    assert content["not_finite"] == "gradient" and len(content["sequences"]) == 1
    assert content["sequences"][0].items() >= sequence.items()
    assert NotFinite(3, RUN).judge(12, 2, TAKEN, SHARE) is None and NotFinite(3, RUN).judge(12, 2, NO_GRADIENT, SHARE) is None


@pytest.mark.parametrize(
    ("limit", "updates", "in_a_row"),
    [
        (3, [SPOILT, SPOILT, TAKEN, SPOILT], 1),
        (3, [SPOILT, NO_GRADIENT, SPOILT], 2),  # an update without any gradient says nothing
        (2, [SPOILT, TAKEN, SPOILT, TAKEN], 0),
    ],
)
def test_only_those_in_a_row_count(limit, updates, in_a_row):
    judge = after(limit, *updates)
    assert judge.in_a_row == in_a_row
    judge.check()


def test_at_the_limit_the_run_ends_and_names_the_file_and_the_way_on():
    with pytest.raises(FloatingPointError) as told:
        after(2, TAKEN, SPOILT, SPOILT).check()
    message = str(told.value)
    assert "not finite in 2 updates in a row (trainer.not_finite_in_a_row = 2)" in message
    assert "runs/mine/not-finite/step-000001-update-3.json" in message and "run_name=mine resume=changed" in message


def test_the_disk_is_not_filled_with_batches():
    judge = NotFinite(10**6, RUN)
    written = [judge.judge(step, 1, SPOILT, SHARE) is not None for step in range(FILES + 5)]
    assert written == [True] * FILES + [False] * 5
