from __future__ import annotations


class OutOfMemory(RuntimeError):
    """The update cannot be made to fit; the message names the keys to change."""
