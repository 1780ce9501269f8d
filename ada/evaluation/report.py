"""Results as people read them: a Markdown table, and pass@k as a picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure

from ada.evaluation.bootstrap import Interval
from ada.evaluation.comparison import Difference
from ada.evaluation.results import ALL, Part

SHOWN = (1, 2, 4, 8, 16, 32, 64, 128, 256)


def markdown(title: str, parts: Mapping[str, Part], samples: int) -> str:
    """A row for each set, union and all problems together; then a table for each label of a set."""
    shown = [k for k in SHOWN if 1 < k <= samples] + ([samples] if samples not in SHOWN else [])
    header = ["set", "problems", f"avg@{samples}", *(f"pass@{k}" for k in shown), "truncated", "unknown", "tokens"]
    lines = [f"# {title}", "", *_table(header, [_cells(_name(name), part, shown) for name, part in parts.items()])]
    lines += [
        "",
        f"Percent, with 95 % bootstrap intervals over problems; {samples} responses a problem. Weighted: by problems.",
    ]
    for name, part in parts.items():
        for label, values in part.labels.items():
            cells = [_cells(value, of_value, shown) for value, of_value in values.items()]
            lines += ["", f"## {name} by {label}", "", *_table([label, *header[1:]], cells)]
    return "\n".join(lines) + "\n"


def differences_markdown(first: str, second: str, found: Mapping[str, Difference]) -> str:
    most = min((len(each.curve) for each in found.values()), default=0)
    ks = [1, *(k for k in SHOWN if 1 < k <= most)]
    rows = [[_name(name), str(each.problems), *(_points(each.curve[k - 1]) for k in ks)] for name, each in found.items()]
    title = f"{second} minus {first}, in percentage points, with 95 % intervals of the paired difference over problems"
    return "\n".join([title, "", *_table(["set", "problems", "avg", *(f"pass@{k}" for k in ks[1:])], rows)])


def picture(curves: Mapping[str, Sequence[Interval]]) -> Figure:
    """pass@k against k, with its intervals, a line for each name."""
    figure = Figure(figsize=(8, 4.5), layout="constrained")
    axes = figure.subplots()
    shown = {name: curve for name, curve in curves.items() if name != ALL or len(curves) > 2}  # of one set, all is the set
    for place, (name, curve) in enumerate(shown.items()):
        ks = range(1, len(curve) + 1)
        colour, dash = ("black", "-") if name == ALL else (f"C{place % 10}", ("-", "--", ":")[place // 10 % 3])
        values, lows, highs = ([getattr(each, end) for each in curve] for end in ("value", "low", "high"))
        axes.plot(ks, values, label=_name(name), color=colour, ls=dash, marker="o" if len(curve) == 1 else None, clip_on=False)
        axes.fill_between(ks, lows, highs, color=colour, alpha=0.12, lw=0)
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_formatter("{x:g}")
    axes.set(xlabel="k", ylabel="pass@k", ylim=(0, 1))
    axes.grid(alpha=0.3)
    figure.legend(loc="outside right upper", frameon=False)
    return figure


def _name(name: str) -> str:
    return "all, weighted" if name == ALL else name


def _cells(name: str, part: Part, shown: Sequence[int]) -> list[str]:
    rates = [_percent(part.curve[k - 1]) if part.curve else "–" for k in (1, *shown)]
    others = ["–" if share is None else f"{100 * share:.1f}" for share in (part.truncated, part.unknown)]
    return [name, str(part.problems), *rates, *others, "–" if part.mean_tokens is None else f"{part.mean_tokens:.0f}"]


def _percent(each: Interval) -> str:
    return f"{100 * each.value:.1f} [{100 * each.low:.1f}, {100 * each.high:.1f}]"


def _points(each: Interval) -> str:
    return f"{100 * each.value:+.1f} [{100 * each.low:+.1f}, {100 * each.high:+.1f}]"


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """The first column to the left, the others to the right."""
    widths = [max(len(row[column]) for row in (header, *rows)) for column in range(len(header))]
    rule = ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])]

    def aligned(row: Sequence[str]) -> list[str]:
        return [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]

    return ["| " + " | ".join(cells) + " |" for cells in (aligned(header), rule, *map(aligned, rows))]
