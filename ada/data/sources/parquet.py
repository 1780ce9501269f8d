from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from ada.config import config
from ada.data.columns import Columns, Record
from ada.data.sources import DataError, MissingData

ROWS_AT_ONCE = 1024


@config
class Parquet(Columns):
    """Problems from a .parquet file, or from all of a folder in the order of their names."""

    name: Literal["parquet"] = "parquet"
    path: Annotated[str, Field(description="the file or folder; relative paths start at the working directory")]

    def records(self) -> Iterator[Record]:
        path = Path(self.path).expanduser()
        files = sorted(path.glob("*.parquet")) if path.is_dir() else [path]
        if not files or not files[0].exists():
            raise MissingData(
                f"{path}: no such file, or no .parquet file in it. Set data.train.path (or the evaluation set's path) to one."
            )
        number = 0
        for file in files:
            for record_number, record in enumerate(self._of(file), start=1):
                number += 1
                yield f"{file}, row {record_number}", number, record

    def _of(self, file: Path) -> Iterator[dict[str, object]]:
        import pyarrow
        from pyarrow.parquet import ParquetFile

        row = 0
        try:
            with ParquetFile(file) as opened:
                there = set(opened.schema_arrow.names)
                wanted = {name for name in self.mapped if name in there} | {name.partition(".")[0] for name in self.mapped}
                complete = wanted <= there  # else all columns, which the message about the missing one names
                for batch in opened.iter_batches(ROWS_AT_ONCE, columns=sorted(wanted) if complete else None):
                    for record in range(batch.num_rows):
                        row += 1
                        yield {name: batch.column(name)[record].as_py() for name in batch.schema.names}
        except (pyarrow.ArrowException, OSError) as error:
            raise DataError(f"{file}: not a parquet file that can be read ({str(error).splitlines()[0]}).") from None
        except UnicodeDecodeError as error:
            raise DataError(f"{file}, row {row}: a column holds text that is not UTF-8 ({error.reason}). Write the file anew.") from None
