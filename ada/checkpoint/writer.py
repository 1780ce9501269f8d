"""Files of a checkpoint that is being written, on one rank: each is flushed to the disk and its checksum taken."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path

from safetensors import SafetensorError

SUMS = "SHA256SUMS"  # as `sha256sum` writes it, and reads it with -c


class Writer:
    """Remembers the first write that failed and leaves out all later ones: the ranks go on together to the end of the saving."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.sums: dict[str, str] = {}  # by path within the folder
        self.failure: str | None = None

    def write(self, relative: str, save: Callable[[Path], object]) -> None:
        """`save` writes the file, or the folder, at the path that it is given."""
        if self.failure is not None:
            return
        path = self.folder / relative
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            save(path)
            for file in [path] if path.is_file() else sorted(p for p in path.rglob("*") if p.is_file()):
                flush(file)
                self.sums[str(file.relative_to(self.folder))] = checksum(file)
        except (OSError, SafetensorError) as error:
            self.failure = f"{path}: {error}"


def write_sums(folder: Path, sums: dict[str, str]) -> None:
    """The last file of a checkpoint."""
    (folder / SUMS).write_text("".join(f"{digest}  {name}\n" for name, digest in sorted(sums.items())))
    flush(folder / SUMS)
    for inner in {folder, *(path for path in folder.rglob("*") if path.is_dir())}:
        flush(inner)


def checksum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def flush(path: Path) -> None:
    """A file's content, or a folder's entries, to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
