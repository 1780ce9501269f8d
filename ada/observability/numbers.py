"""Numbers as people read them."""

from __future__ import annotations

import math


def compact(value: float | None) -> str:
    """1234567 -> 1.23M, 12345 -> 12.3k, 7 -> 7, 6.423 -> 6.42; a dash where there is no value."""
    if value is None or not math.isfinite(value):
        return "–"
    for size, suffix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= 0.9995 * size:
            return f"{value / size:.3g}{suffix}" if abs(value) < 999.5 * size else f"{value / size:.0f}{suffix}"
    return f"{value:.3g}"


def fixed(value: float | None, digits: int) -> str:
    return "–" if value is None or not math.isfinite(value) else f"{value:.{digits}f}"


def percent(value: float | None) -> str:
    return "–" if value is None or not math.isfinite(value) else f"{100 * value:.0f} %"


def clock(seconds: float | None) -> str:
    """65 -> 1:05, 3605 -> 1:00:05, from a day on 2 d 03:00."""
    if seconds is None or not math.isfinite(seconds):
        return "–"
    minutes, second = divmod(max(0, round(seconds)), 60)
    hours, minute = divmod(minutes, 60)
    if hours >= 24:
        return f"{hours // 24} d {hours % 24:02d}:{minute:02d}"
    return f"{hours}:{minute:02d}:{second:02d}" if hours else f"{minute}:{second:02d}"


def sparkline(values: list[float], width: int) -> str:
    """The last values as bars, scaled between their own least and greatest; where there are more than `width`, means of equal spans."""
    finite = [value for value in values if math.isfinite(value)]
    if not finite:
        return ""
    if len(finite) > width:
        edges = [round(index * len(finite) / width) for index in range(width + 1)]
        finite = [sum(finite[a:b]) / (b - a) for a, b in zip(edges, edges[1:], strict=False)]
    low, high = min(finite), max(finite)
    span = high - low or 1.0
    return "".join("▁▂▃▄▅▆▇█"[round(7 * (value - low) / span)] for value in finite)
