"""From the view to one HTML file that asks nothing of the network: styles, scripts and numbers are inside it."""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from ada.observability import strict_json
from ada.observability.closing import relative
from ada.observability.json_lines import write_atomically
from ada.observability.numbers import clock, compact, fixed, percent
from ada.report.record import read_run
from ada.report.view import PageView, page_view

log = logging.getLogger(__name__)

PARTS = Path(__file__).parent / "page"
SCRIPTS = ("draw.js", "lines.js", "panels.js", "samples.js", "page.js")


def write_report(runs: Sequence[Path], output: Path) -> None:
    """`runs`: their folders. More than one: a comparison."""
    write_atomically(output, render(page_view([read_run(path) for path in runs])))


def report_of_a_run(folder: Path) -> list[str]:
    """At its end: the line that names the page. A page that cannot be made is told; the run is complete without it."""
    page = folder / "report.html"
    try:
        write_report([folder], page)
    except Exception as error:
        log.warning("%s could not be made (%s: %s). To try again: ada report %s", page, type(error).__name__, error, folder)
        return []
    return [f"{relative(page)} shows it"]


def render(view: PageView) -> str:
    environment = Environment(
        loader=FileSystemLoader(PARTS), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {"clock": clock, "compact": compact, "fixed": fixed, "percent": percent, "figure": _figure}
    page = environment.get_template("page.html").render(
        view=view,
        several=len(view.runs) > 1,
        data=_inside_script(view.data),
        style=Markup((PARTS / "page.css").read_text(encoding="utf-8")),
        script=Markup("\n".join((PARTS / name).read_text(encoding="utf-8") for name in SCRIPTS)),
        made=datetime.now().astimezone().strftime("%Y-%m-%d %H:%M %Z"),
    )
    return page.encode("utf-8", "replace").decode()  # a lone surrogate, as a model may write, has no UTF-8


def _inside_script(data: object) -> Markup:
    """JSON that no text in it can end: HTML reads a script up to `</script`, and changes its mind at `<!--`."""
    text = json.dumps(strict_json.plain(data), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)


def _figure(value: float | None, metric: str) -> str:
    """A metric's value in a table."""
    if metric.endswith("_fraction"):
        return percent(value)
    if metric == "total/seconds":
        return clock(value)
    return fixed(value, 3) if metric.startswith(("eval/", "reward/")) else compact(value)
