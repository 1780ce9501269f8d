"""Budgets and beliefs of the sampler."""

from __future__ import annotations

from collections.abc import Iterator

from ada.report.calibration import calibration
from ada.report.checks.finding import Finding, level
from ada.report.record import RunRecord
from ada.report.signal import signal


def belief_checks(run: RunRecord) -> Iterator[Finding]:
    draws = signal(run).draws
    seen = {outcome for _, outcome in draws}
    total = draws.total()
    if "resolved" in seen:
        spent = sum(count for (_, outcome), count in draws.items() if outcome == "exhausted") / total
        yield Finding(
            "Prompts that used up their draws",
            level(spent, 0.4, 0.7),
            f"{100 * spent:.3g} % of {total:,} over the run",
            "up to 40 %; above 70 % it is serious",
            "Their whole budget went without the stop rule holding: bring prompts that are neither solved nor out of reach, or lower "
            "sampling.schedule.max_draws to save the cost.",
            "sampling/resolved_fraction",
        )
    error = calibration(run).error
    if error is not None:
        yield Finding(
            "Beliefs about pass rates, beside what was drawn",
            level(error, 0.1, 0.25),
            f"off by {error:.3f} in the mean",
            "up to 0.1; above 0.25 it is serious",
            "Draws go to the wrong prompts. Only the order matters to the allocation: see the calibration for whether it rises. A lower "
            "sampling.passrate.discount forgets the past sooner.",
        )
