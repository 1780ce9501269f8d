"""docs/estimators.md: its prose is written by hand, its tables between marks by this."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "estimators.md"


def with_tables(text: str, tables: dict[str, str]) -> str:
    """`text` with what lies between `<!-- table NAME -->` and `<!-- end -->` replaced. Raises ValueError where a mark is not there once."""
    for name, content in tables.items():
        parts = re.split(rf"(<!-- table {name} -->\n)(?:.*?)(<!-- end -->)", text, flags=re.S)
        if len(parts) != 4:
            raise ValueError(
                f"the page has {len(parts) // 3} places for table {name}; it needs one: <!-- table {name} --> ... <!-- end -->"
            )
        before, start, end, after = parts
        text = f"{before}{start}\n{content}\n\n{end}{after}"
    return text
