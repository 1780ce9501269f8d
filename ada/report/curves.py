"""Metrics against steps, generated tokens and seconds, thinned so that a page of 10,000 steps stays small."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ada.report.record import Row, RunRecord

MOST_POINTS = 600  # of one curve
AXES = {"step": "step", "tokens": "total/generated_tokens", "seconds": "total/seconds"}

Point = tuple[int, float | None]  # index of the row, value; None is a gap


def axes(run: RunRecord) -> dict[str, list[float | None]]:
    """What each row stands at on each axis. Step 0 is the start of all three; a row without a total stands nowhere on that axis."""
    found: dict[str, list[float | None]] = {axis: [] for axis in AXES}
    for row in run.steps:
        for axis, metric in AXES.items():
            value = row.get(metric)
            found[axis].append(0 if row["step"] == 0 else value if is_number(value) else None)
    return found


def curves(run: RunRecord) -> dict[str, list[Point]]:
    """Every metric that has a value anywhere. A row without the metric is no point (evaluations are rare); null is a gap."""
    names: dict[str, None] = {}
    for row in run.steps:
        names |= dict.fromkeys(name for name, value in row.items() if is_number(value) and name not in ("step", *AXES.values()))
    return {
        name: thinned([(i, row[name] if is_number(row[name]) else None) for i, row in enumerate(run.steps) if name in row])
        for name in names
    }


def thinned(points: Sequence[Point], most: int = MOST_POINTS) -> list[Point]:
    """At most `most` points: of each of equal spans the lowest and the highest, so that no spike is lost, and a gap where there was one."""
    if len(points) <= most:
        return list(points)
    spans = most // 3
    edges = [round(i * len(points) / spans) for i in range(spans + 1)]
    return [point for a, b in zip(edges, edges[1:], strict=False) for point in _extremes(points[a:b])]


def _extremes(span: Sequence[Point]) -> Iterator[Point]:
    values = [(value, i) for i, value in span if value is not None]
    yield from sorted({(i, value) for value, i in (min(values), max(values))} if values else ())
    gap = next((i for i, value in span if value is None), None)
    if gap is not None:
        yield gap, None


def is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def mean(rows: Sequence[Row], metric: str) -> float | None:
    """Over the rows that have a value."""
    values = [row[metric] for row in rows if is_number(row.get(metric))]
    return sum(values) / len(values) if values else None
