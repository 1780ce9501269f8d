"""Trackers beside wandb, each by its name in accelerate.tracking, which keeps one way to talk to all of them."""

from __future__ import annotations

import io
import logging
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

logger = logging.getLogger(__name__)


def open_tracker(name: str, folder: Path, project: str, run: str, first: int = 0) -> Any:
    """`folder`: the run's; those that keep files keep them in folder/<name>. `first`: the step that a continued run goes on with."""
    from accelerate import tracking

    tracking.logger = logging.getLogger(tracking.__name__)  # its own does not speak unless accelerate manages the processes
    if name not in {str(getattr(known, "value", known)) for known in tracking.get_available_trackers()}:
        raise ModuleNotFoundError(f"its package is not installed: pip install {name}, or remove it from tracking.also")
    kind = tracking.LOGGER_TYPE_TO_CLASS[name]
    if name == "trackio":
        tracker = kind(project, name=run, resume="allow" if first else "never", embed=False, auto_log_gpu=False, auto_log_cpu=False)
    elif kind.requires_logging_directory:
        later_steps_anew = {"purge_step": first} if name == "tensorboard" and first else {}
        tracker = kind(name, logging_dir=str(folder), **later_steps_anew)
    else:
        tracker = kind(run)
    tracker.main_process_only = False  # rank 0 alone has one: accelerate's own idea of ranks stays out of it
    _silently(tracker.start)
    return tracker


def close_tracker(tracker: Any) -> None:
    _silently(tracker.finish)


def _silently(act: Callable[[], None]) -> None:
    """What it would print goes to the log: the terminal is the run's."""
    said = io.StringIO()
    with redirect_stdout(said):
        act()
    logger.info("%s", said.getvalue().strip())
