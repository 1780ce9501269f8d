from __future__ import annotations

import dataclasses
import os
from pathlib import Path

from ada.cli.failures import told


def reproduce(quick: bool, seeds: int | None, minutes: float | None, output: str, page: str | None, jobs: int | None) -> int:
    return told(lambda: _reproduce(quick, seeds, minutes, output, page, jobs))


def _reproduce(quick: bool, seeds: int | None, minutes: float | None, output: str, page: str | None, jobs: int | None) -> int:
    from ada.reproduce.experiment import FULL, QUICK
    from ada.reproduce.outcome import read_outcome
    from ada.reproduce.page import write_page
    from ada.reproduce.runs import RunFailed, Runs, finished

    experiment = QUICK if quick else FULL
    if seeds is not None:
        experiment = dataclasses.replace(experiment, seeds=tuple(range(seeds)))
    if minutes is not None:
        experiment = dataclasses.replace(experiment, budget=60.0 * minutes)
    folder = Path(output) / ("reproduce-quick" if quick else "reproduce")
    runs = Runs(experiment, folder, jobs or os.cpu_count() or 1, report=lambda line: print(line, flush=True))
    failed: RunFailed | None = None
    try:
        runs.run()
    except RunFailed as error:
        failed = error
    done = [(method, seed) for method in experiment.methods for seed in experiment.seeds if finished(runs.path(method, seed), method)]
    if done:
        target = Path(page) if page else folder / "reproduction.md"
        command = "make reproduce" + (" QUICK=1" if quick else "") + (f" SEEDS={seeds}" if seeds is not None else "")
        write_page([read_outcome(runs.path(method, seed), method.name, seed) for method, seed in done], experiment, command, target)
        print(f"{len(done)} of {len(experiment.methods) * len(experiment.seeds)} runs are in {target}")
    if failed:
        print(f"error: {failed}")
    return 0 if done and not failed else 1
