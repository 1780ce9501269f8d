"""`ada report RUN [RUN ...]`: makes the page of a run anew, or one that compares several."""

from __future__ import annotations

from pathlib import Path

from ada.cli.failures import told


def report(runs: list[str], *, output: str | None) -> int:
    return told(lambda: _report(runs, output))


def _report(runs: list[str], output: str | None) -> int:
    from ada.observability.closing import relative
    from ada.report.record import find_run
    from ada.report.render import write_report

    paths = list(dict.fromkeys(find_run(run) for run in runs))
    default = paths[0] / "report.html" if len(paths) == 1 else paths[0].parent / "comparison.html"
    target = Path(output) if output else default
    if not target.parent.is_dir():
        raise FileNotFoundError(f"--output {target}: the folder {target.parent} does not exist. Make it first, or name another one.")
    write_report(paths, target)
    print(relative(target))
    return 0
