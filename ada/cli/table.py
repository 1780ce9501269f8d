"""A table on the terminal; elsewhere the same in plain columns."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table


def print_table(columns: Sequence[str], rows: Sequence[Sequence[str]], highlight: str | None) -> None:
    """The first column to the left, the others to the right. `highlight`: the first cell of the row that is set off on a terminal."""
    console = Console()
    widths = [max(len(row[i]) for row in [columns, *rows]) for i in range(len(columns))]
    if not console.is_terminal:
        for row in [columns, *rows]:
            print("  ".join([row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]))
        return
    table = Table(box=None, pad_edge=False, header_style="dim")
    narrow = sum(widths) + 2 * len(widths) > console.width  # then headings may be broken, and nothing is cut off
    for number, column in enumerate(columns):
        head = re.sub(r"(?<=[/+-])", "\n", column) if narrow and number else column
        table.add_column(head, justify="left" if number == 0 else "right", no_wrap=number == 0, overflow="fold")
    for row in rows:
        table.add_row(*row, style="bold" if row[0] == highlight else None)
    console.print(table)
