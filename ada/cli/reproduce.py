from __future__ import annotations

import dataclasses
import os
from pathlib import Path

from ada.cli.failures import told


def reproduce(experiment: str, seeds: int | None, minutes: float | None, output: str, page: str | None, jobs: int | None) -> int:
    return told(lambda: _reproduce(experiment, seeds, minutes, output, page, jobs))


def _reproduce(name: str, seeds: int | None, minutes: float | None, output: str, page: str | None, jobs: int | None) -> int:
    from ada.reproduce.experiments import experiment
    from ada.reproduce.outcome import read_outcome
    from ada.reproduce.page import write_page
    from ada.reproduce.runs import RunFailed, Runs, finished

    chosen = experiment(name)
    if seeds is not None:
        chosen = dataclasses.replace(chosen, seeds=tuple(range(chosen.seeds[0], chosen.seeds[0] + seeds)))
    if minutes is not None:
        chosen = dataclasses.replace(chosen, budget=60.0 * minutes)
    folder = Path(output) / "reproduce"
    runs = Runs(chosen, folder, jobs or os.cpu_count() or 1, report=lambda line: print(line, flush=True))
    failed: RunFailed | None = None
    try:
        runs.run()
    except RunFailed as error:
        failed = error
    done = [(method, seed) for method in chosen.methods for seed in chosen.seeds if finished(runs.path(method, seed), method)]
    if done:
        target = Path(page) if page else folder / f"{name}.md"
        command = "make reproduce" + (f" EXPERIMENT={name}" if name != "paper" else "") + (f" SEEDS={seeds}" if seeds is not None else "")
        write_page([read_outcome(runs.path(method, seed), method.name, seed) for method, seed in done], chosen, command, target)
        print(f"{len(done)} of {len(chosen.methods) * len(chosen.seeds)} runs are in {target}")
    if failed:
        print(f"error: {failed}")
    return 0 if done and not failed else 1
