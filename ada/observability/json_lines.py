"""Files that other processes read while they are written: JSON lines, each whole, and texts replaced at once."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ada.observability import strict_json


class JsonLines:
    """A file of JSON lines. Each goes down by one write; a kill may cut that at the border of a page, which the next opening mends."""

    def __init__(self, path: Path):
        self._path = path
        self._descriptor: int | None = None

    def append(self, row: Mapping[str, Any]) -> None:
        data = (strict_json.line(row) + "\n").encode("utf-8", "backslashreplace")  # a lone surrogate has no UTF-8
        if self._descriptor is None:
            _drop_torn_end(self._path)
            self._descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        before = os.fstat(self._descriptor).st_size
        written = os.write(self._descriptor, data)
        if written != len(data):
            os.ftruncate(self._descriptor, before)
            raise OSError(f"only {written} of {len(data)} bytes fitted")

    def keep(self, wanted: Callable[[dict[str, Any]], bool]) -> None:
        self.close()
        if self._path.exists():
            _drop_torn_end(self._path)
            kept = [text for text in self._path.read_text(encoding="utf-8").split("\n")[:-1] if wanted(json.loads(text))]
            write_atomically(self._path, "".join(text + "\n" for text in kept))

    def read(self) -> list[dict[str, Any]]:
        if not self._path.exists():
            return []
        return [json.loads(text) for text in self._path.read_text(encoding="utf-8").split("\n")[:-1]]

    def close(self) -> None:
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)


def write_atomically(path: Path, text: str) -> None:
    """A reader finds the old file or the whole new one, also after a power cut."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def _drop_torn_end(path: Path) -> None:
    """Cuts a last line without its newline: what a kill or a loss of power may leave."""
    if path.exists():
        data = path.read_bytes()
        if data and not data.endswith(b"\n"):
            os.truncate(path, data.rfind(b"\n") + 1)
