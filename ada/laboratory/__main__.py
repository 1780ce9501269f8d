"""python -m ada.laboratory [--exact]: writes the tables of docs/estimators.md anew, about two minutes; --exact: without the drawn one."""

from __future__ import annotations

import argparse

from ada.laboratory.page import PAGE, with_tables
from ada.laboratory.tables import chance_table, exact_tables

parser = argparse.ArgumentParser(prog="python -m ada.laboratory", description="Write the tables of docs/estimators.md anew.")
parser.add_argument("--exact", action="store_true", help="leave the table that is drawn by chance as it is: seconds instead of minutes")
tables = exact_tables() if parser.parse_args().exact else exact_tables() | {"chance": chance_table()}
PAGE.write_text(with_tables(PAGE.read_text(encoding="utf-8"), tables), encoding="utf-8")
print(f"{PAGE}: {len(tables)} tables")
