"""`ada runs`: the runs of a folder with their key figures."""

from __future__ import annotations

import sys
from pathlib import Path

from ada.cli.failures import WRONG_INPUT
from ada.cli.table import print_table
from ada.observability.runs_table import COLUMNS, rows


def runs(folder: str) -> int:
    found = rows(Path(folder))
    if not found:
        print(f"error: {folder}: no run is there. `ada train` writes into runs/, or where output= says.", file=sys.stderr)
        return WRONG_INPUT
    print_table(COLUMNS, found, highlight=None)
    return 0
