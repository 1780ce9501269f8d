"""Trackers beside wandb, each by its name in accelerate.tracking, which keeps one way to talk to all of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def open_tracker(name: str, folder: Path, project: str, run: str, first: int = 0) -> Any:
    """`folder`: the run's; those that keep files keep them in folder/<name>. `first`: the step that a continued run goes on with."""
    from accelerate.tracking import LOGGER_TYPE_TO_CLASS, get_available_trackers

    if name not in {str(getattr(known, "value", known)) for known in get_available_trackers()}:
        raise ModuleNotFoundError(f"its package is not installed: pip install {name}, or remove it from tracking.also")
    kind = LOGGER_TYPE_TO_CLASS[name]
    if name == "trackio":
        tracker = kind(project, name=run, resume="allow" if first else "never", embed=False, auto_log_gpu=False, auto_log_cpu=False)
    elif kind.requires_logging_directory:
        later_steps_anew = {"purge_step": first} if name == "tensorboard" and first else {}
        tracker = kind(name, logging_dir=str(folder), **later_steps_anew)
    else:
        tracker = kind(run)
    tracker.main_process_only = False  # rank 0 alone has one: accelerate's own idea of ranks stays out of it
    tracker.start()
    return tracker
