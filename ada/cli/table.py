"""A table on the terminal; elsewhere the same in plain columns."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table


def print_table(columns: Sequence[str], rows: Sequence[Sequence[str]], highlight: str | None) -> None:
    """The first column to the left, the others to the right. `highlight`: the first cell of the row that is set off on a terminal."""
    console = Console()
    if not console.is_terminal:
        widths = [max(len(row[i]) for row in [columns, *rows]) for i in range(len(columns))]
        for row in [columns, *rows]:
            print("  ".join([row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]))
        return
    table = Table(box=None, pad_edge=False, header_style="dim")
    for number, column in enumerate(columns):
        table.add_column(column, justify="left" if number == 0 else "right", no_wrap=number == 0)
    for row in rows:
        table.add_row(*row, style="bold" if row[0] == highlight else None)
    console.print(table)
