"""`ada eval MODEL SUITE`: avg@k and pass@k with intervals over problems, as JSON, a Markdown table and a plot."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ada.cli.compare import say_differences, settings
from ada.cli.failures import told
from ada.observability.numbers import clock

RESULTS = "results.json"


def eval(name: str, suite: str, overrides: list[str], *, output: str | None, against: str | None) -> int:
    """0: done, 2: the suite, the model or the folder is wrong; 128 + n: stopped by signal n, to be continued by the same command."""
    return told(lambda: _evaluation(name, suite, overrides, output, against))


def _evaluation(path: str, suite_name: str, overrides: list[str], output: str | None, against: str | None) -> int:
    from ada.evaluation.model import Model
    from ada.evaluation.suite import read_suite
    from ada.shutdown import StopRequest

    name, suite = read_suite(suite_name, overrides)
    model = Model.find(path)
    folder = Path(output) if output else Path("evals") / f"{model.name}-{name}"
    if against:
        settings(Path(against))
    stop, began = StopRequest().install(), time.monotonic()

    from ada.evaluation.standalone import evaluate_model
    from ada.sampling.collector import Stopped

    try:
        found = evaluate_model(model, name, suite, folder, stop)
    except Stopped:
        print(f"Stopped. The same command goes on from what {folder} holds.", flush=True)
        stop.ended()
        return stop.exit_code
    if found.first:
        from ada.evaluation.results import results
        from ada.evaluation.rows_file import by_set

        parts = results(by_set(found.rows, suite.sets), suite.unions, found.labels, suite.samples)
        _write(folder, f"{model.name} on {name}", parts, suite.samples)
        print(f"\n{(folder / 'results.md').read_text()}", flush=True)
        print(f"{len(found.rows)} problems, {clock(time.monotonic() - began)}, {folder}", flush=True)
        if against:
            print()
            say_differences(Path(against), folder)
    stop.ended()
    return stop.exit_code


def _write(folder: Path, title: str, parts: Mapping[str, Any], samples: int) -> None:
    from ada.evaluation.report import markdown, picture
    from ada.observability.json_lines import write_atomically

    content = {**settings(folder), "results": {name: part.to_json() for name, part in parts.items()}}
    write_atomically(folder / RESULTS, json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n")
    write_atomically(folder / "results.md", markdown(title, parts, samples))
    picture({name: part.curve for name, part in parts.items()}).savefig(folder / "pass_at_k.png", dpi=150)
