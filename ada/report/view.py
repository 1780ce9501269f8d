"""What the page says: figures as text for the template, and the numbers that its charts draw."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ada.observability.numbers import clock, compact, fixed, percent
from ada.report import samples
from ada.report.calibration import Calibration, calibration
from ada.report.checks import examine
from ada.report.checks.finding import Finding, last_tenth
from ada.report.comparison import Comparison, comparisons, differences
from ada.report.curves import axes, curves, is_number, mean
from ada.report.record import RunRecord
from ada.report.signal import BASELINE, KINDS, Signal, signal
from ada.report.units import unit

MOST_BARS = 32  # of the histogram of draws
MOST_AREAS = 200  # points of the signal's areas
NAMED = 4  # runs in the title


@dataclass(frozen=True)
class RunView:
    run: RunRecord
    findings: list[Finding]
    figures: list[tuple[str, str, str]]  # label, value, what it is
    signal: Signal
    signal_figures: list[tuple[str, str, str]]
    calibration: Calibration
    draws: list[tuple[str, dict[str, int]]]  # label of the bar, pools by outcome

    @property
    def worries(self) -> list[Finding]:
        return [finding for finding in self.findings if finding.level != "good"]


@dataclass(frozen=True)
class PageView:
    title: str
    runs: list[RunView]
    comparisons: list[Comparison]
    differences: dict[str, list[str]]
    data: Mapping[str, Any]  # what the charts and the table of samples read
    samples: int  # in the runs' folders; the page may show fewer


def page_view(runs: Sequence[RunRecord]) -> PageView:
    views = [run_view(run) for run in runs]
    several = len(runs) > 1
    picked = [samples.chosen(run.samples, max(2, samples.MOST_SAMPLES // len(runs))) for run in runs]
    characters = max(samples.SHORTEST_CUT, samples.MOST_CHARACTERS // max(1, sum(map(len, picked))))
    numbers = [_numbers(view) for view in views]
    data = {
        "runs": numbers,
        "units": {metric: unit(metric) for one in numbers for metric in one["curves"]},
        "samples": [row for i, rows in enumerate(picked) for row in samples.shown(rows, i, characters)],
    }
    return PageView(
        title=_title([run.name for run in runs]),
        runs=views,
        comparisons=comparisons(runs) if several else [],
        differences=differences(runs) if several else {},
        data=data,
        samples=sum(len(run.samples) for run in runs),
    )


def _title(names: Sequence[str]) -> str:
    return ", ".join(names) if len(names) <= NAMED else f"{', '.join(names[:NAMED])} and {len(names) - NAMED} more"


def run_view(run: RunRecord) -> RunView:
    found = signal(run)
    return RunView(run, examine(run), _figures(run), found, _signal_figures(run, found), calibration(run), bars(found))


def _figures(run: RunRecord) -> list[tuple[str, str, str]]:
    end = last_tenth(run)
    last = run.trained[-1] if run.trained else {}
    return [
        *_held_out(run),
        ("Reward", fixed(mean(end, "reward/first_n"), 3), "of first draws, last tenth of the steps"),
        ("No gradient", percent(mean(end, "signal/zero_gradient_fraction")), "of prompts, last tenth of the steps"),
        ("Draws per prompt", fixed(mean(run.trained, "sampling/responses_per_prompt"), 1), "mean of all steps"),
        ("Generated", compact(last.get("total/generated_tokens")), "tokens"),
        ("Time", clock(last.get("total/seconds")), f"{last.get('step', 0)} steps"),
    ]


def _held_out(run: RunRecord) -> Iterable[tuple[str, str, str]]:
    """Of each set, how often its problems are answered right: before training, and at the last evaluation."""
    names = dict.fromkeys(name for row in run.steps for name in row if name.startswith("eval/") and "/avg@" in name)
    for name in names:
        known = [(row["step"], row[name]) for row in run.steps if is_number(row.get(name))]
        if known:
            (first, before), (step, after) = known[0], known[-1]
            since = f"from {before:.3f} at step {first}; now step {step}" if len(known) > 1 else f"at step {step}"
            yield name.removeprefix("eval/"), f"{after:.3f}", since


def _signal_figures(run: RunRecord, found: Signal) -> list[tuple[str, str, str]]:
    length = mean(run.trained, "completions/mean_length")
    tokens = found.cost * length if found.cost is not None and length else None
    return [
        ("No gradient", percent(mean(run.trained, "signal/zero_gradient_fraction")), "of prompts, all steps"),
        ("All right", percent(found.share("all_right")), "of prompts"),
        ("All wrong", percent(found.share("all_wrong")), "of prompts"),
        (f"Signal in the first {BASELINE}", percent(found.share("early")), "of prompts"),
        ("Recovered", percent(found.share("recovered")), f"of prompts: signal only after draw {BASELINE}"),
        ("Cost", fixed(found.cost, 1), "draws per recovered prompt" + (f", about {compact(tokens)} tokens" if tokens else "")),
    ]


def bars(found: Signal) -> list[tuple[str, dict[str, int]]]:
    """Pools by the number of their draws: one bar a number, or spans of equal width where there would be too many bars."""
    most = max((drawn for drawn, _ in found.draws), default=0)
    width = -(-most // MOST_BARS) or 1
    result = []
    for low in range(1, most + 1, width):
        high = low + width - 1
        by_outcome: dict[str, int] = {}
        for (drawn, outcome), count in sorted(found.draws.items()):
            if low <= drawn <= high:
                by_outcome[outcome] = by_outcome.get(outcome, 0) + count
        result.append((str(low) if width == 1 else f"{low}–{high}", by_outcome))
    return result


def _numbers(view: RunView) -> dict[str, Any]:
    return {
        "name": view.run.name,
        "axes": {axis: [_short(value) for value in values] for axis, values in axes(view.run).items()},
        "curves": {
            name: [[i for i, _ in points], [_short(value) for _, value in points]] for name, points in sorted(curves(view.run).items())
        },
        "signal": _areas(view),
        "draws": view.draws,
        "calibration": [[_short(v) for v in (b.belief, b.observed, b.low, b.high, b.pools)] for b in view.calibration.bins],
    }


def _areas(view: RunView) -> dict[str, Any]:
    """Means of equal spans of steps, at the place of the span's last row."""
    rows = {row["step"]: i for i, row in enumerate(view.run.steps)}
    steps, shares = view.signal.steps, view.signal.shares
    spans = min(MOST_AREAS, len(steps))
    edges = [round(i * len(steps) / spans) for i in range(spans + 1)] if spans else []
    pairs = [(a, b) for a, b in zip(edges, edges[1:], strict=False) if steps[b - 1] in rows]
    return {
        "rows": [rows[steps[b - 1]] for _, b in pairs],
        "shares": {kind: [_short(sum(shares[kind][a:b]) / (b - a)) for a, b in pairs] for kind in KINDS},
    }


def _short(value: float | None) -> float | int | None:
    """Six digits are more than a screen shows."""
    if value is None or isinstance(value, int):
        return value
    return float(f"{value:.6g}")
