"""Python's logging, set up once.

log.txt takes rank 0's messages and every rank's warnings; the terminal gets rank 0's warnings, and only the errors of other libraries.
"""

from __future__ import annotations

import logging
import sys
from pathlib import Path


def start_logging(path: Path | None, rank: int = 0) -> None:
    """`path`: of log.txt, shared by all ranks; None: terminal only. A later call replaces what an earlier one set up."""
    root = logging.getLogger()
    stop_logging()
    if path is not None:
        file = logging.FileHandler(path, encoding="utf-8")  # appends, a line at a time
        file.setFormatter(logging.Formatter(f"%(asctime)s rank {rank} %(levelname)s %(name)s: %(message)s"))
        _add(file, logging.DEBUG)
    if rank == 0:
        terminal = _Terminal()
        terminal.addFilter(lambda record: record.levelno >= logging.ERROR or record.name.partition(".")[0] == "ada")
        _add(terminal, logging.WARNING)
    root.setLevel(logging.WARNING)  # other libraries
    logging.getLogger("ada").setLevel(logging.INFO if rank == 0 else logging.WARNING)
    logging.captureWarnings(True)


def stop_logging() -> None:
    root = logging.getLogger()
    for handler in [h for h in root.handlers if getattr(h, "of_ada", False)]:
        root.removeHandler(handler)
        handler.close()
    logging.captureWarnings(False)


class _Terminal(logging.Handler):
    """Asks for sys.stderr at each message: the live display puts its own there, so that messages appear above it."""

    def emit(self, record: logging.LogRecord) -> None:
        try:
            print(f"{record.levelname.lower()}: {record.getMessage()}", file=sys.stderr)
        except Exception:
            self.handleError(record)


def _add(handler: logging.Handler, level: int) -> None:
    handler.setLevel(level)
    handler.of_ada = True  # type: ignore[attr-defined]
    logging.getLogger().addHandler(handler)
