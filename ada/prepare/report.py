"""What a preparation did: how many problems each stage left, and the pass rates of the base model, as Markdown and as a picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from matplotlib.figure import Figure

from ada.observability.numbers import fixed
from ada.prepare.journal import Drawn

WIDEST = 40  # characters of a bar
SHOWN = 10  # gold answers that failed


@dataclass(frozen=True, slots=True)
class Findings:
    recipe: str
    model: str
    draws: int
    rule: str
    read: int  # rows
    repeated: int
    overlong: int
    failed_golds: Sequence[tuple[str, str, str]]  # row id, gold answer, verdict
    drawn: Mapping[str, Drawn]
    kept: Sequence[Drawn]


def write_report(folder: Path, found: Findings) -> None:
    """report.md, and pass_rates.png beside it."""
    _picture(folder / "pass_rates.png", found)
    (folder / "report.md").write_text(
        "\n".join([*_stages(found), *_histogram(found), *_golds(found), *_use(folder, found)]) + "\n", "utf-8"
    )


def histogram(found: Findings) -> list[tuple[int, int]]:
    """Of each number of right answers, from none to all: problems with so many, and those of them that stay."""
    kept = {one.id for one in found.kept}
    judged = [one for one in found.drawn.values() if one.judged]
    return [
        (sum(one.right == right for one in judged), sum(one.right == right and one.id in kept for one in judged))
        for right in range(found.draws + 1)
    ]


def _stages(found: Findings) -> list[str]:
    drawn, tokens = list(found.drawn.values()), sum(one.tokens for one in found.drawn.values())
    responses = max(1, found.draws * len(drawn))
    rows = [
        ("rows read", found.read),
        ("dropped: repeated problem", found.repeated),
        ("dropped: prompt too long", found.overlong),
        ("dropped: gold answer that the reward function does not call right", len(found.failed_golds)),
        (f"drawn from, {found.draws} responses each", len(drawn)),
        ("of them never right", sum(one.judged > 0 and one.right == 0 for one in drawn)),
        ("of them always right", sum(one.judged > 0 and one.right == one.judged for one in drawn)),
        ("of them without any verdict", sum(one.judged == 0 for one in drawn)),
        (f"**kept: {found.rule}**", len(found.kept)),
    ]
    return [
        f"# Problems prepared by {found.recipe}",
        "",
        f"Base model: `{found.model}`. Mean pass rate: {_rate(drawn)} of all that were drawn from, {_rate(found.kept)} of the kept. "
        f"Mean length of a response: {tokens / responses:.1f} tokens; {sum(one.cut_off for one in drawn) / responses:.1%} were cut off "
        f"and count as wrong; {sum(one.unknown for one in drawn) / responses:.1%} have no verdict and count as nothing.",
        "",
        "| | problems |",
        "|---|---:|",
        *(f"| {name} | {count} |" for name, count in rows),
        "",
    ]


def _rate(drawn: Sequence[Drawn]) -> str:
    rates = [one.right / one.judged for one in drawn if one.judged]
    return fixed(sum(rates) / len(rates) if rates else None, 3)


def _histogram(found: Findings) -> list[str]:
    bars = histogram(found)
    most = max(1, max(count for count, _ in bars))
    lines = [
        f"{right:>4}  {'█' * round(WIDEST * kept / most)}{'░' * (round(WIDEST * count / most) - round(WIDEST * kept / most))} {count}"
        for right, (count, kept) in enumerate(bars)
    ]
    return [f"## Right answers of {found.draws}", "", "█ kept, ░ not.", "", "```", *lines, "```", "", "![pass rates](pass_rates.png)", ""]


def _golds(found: Findings) -> list[str]:
    if not found.failed_golds:
        return []
    shown = [f"| {id} | `{gold:.60}` | {verdict} |".replace("\n", " ") for id, gold, verdict in found.failed_golds[:SHOWN]]
    return ["## Gold answers that failed", "", "| row | gold answer | verdict |", "|---|---|---|", *shown, ""]


def _use(folder: Path, found: Findings) -> list[str]:
    return [
        "## Use",
        "",
        "```yaml",
        "data:",
        f"  train: {{name: parquet, path: {folder / 'problems.parquet'}, id: id, pass_rate: pass_rate, pass_rate_draws: {found.draws}}}",
        "```",
    ]


def _picture(path: Path, found: Findings) -> None:
    bars = histogram(found)
    figure = Figure(figsize=(7, 3.2), layout="constrained")
    axes = figure.subplots()
    axes.bar(range(len(bars)), [count for count, _ in bars], color="#d0d4da", label="not kept")
    axes.bar(range(len(bars)), [kept for _, kept in bars], color="#1f77b4", label=f"kept: {found.rule}")
    axes.set_xlabel(f"right answers of {found.draws}")
    axes.set_ylabel("problems")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    figure.savefig(path, dpi=120)
