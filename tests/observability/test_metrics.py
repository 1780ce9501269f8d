"""Metrics of a step by hand, where something is missing."""

from __future__ import annotations

import dataclasses

import pytest

from ada.observability.metrics import sampling_metrics, training_metrics
from ada.sampling.collection import Cost
from tests.sampling.pools import pool


def test_cut_off_responses_that_no_function_saw_count_0_in_every_part():
    """Two right, one wrong, one cut off; a fifth failed and counts nowhere."""
    mixed = pool("RRWWF")
    for draw, parts in enumerate(({"correct": 1.0, "form": 0.5}, {"correct": 1.0, "form": 1.0}, {"correct": 0.0, "form": 0.5}, {}, {})):
        mixed.attempts[draw] = dataclasses.replace(mixed.attempts[draw], parts=parts)
    cut = mixed.attempts[3]
    mixed.attempts[3] = dataclasses.replace(cut, response=dataclasses.replace(cut.response, finish_reason="length"))
    found = sampling_metrics([mixed], Cost(), None)
    assert (found["reward/parts/correct"], found["reward/parts/form"]) == (0.5, 0.5)
    assert found["reward/mean"] == pytest.approx(found["reward/parts/correct"])


def test_a_step_in_which_no_prompt_has_a_gradient_skips_all_its_updates():
    assert training_metrics([], planned=2, seconds=1.0)["train/skipped_updates"] == 2
