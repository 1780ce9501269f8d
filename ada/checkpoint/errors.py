from __future__ import annotations


class CheckpointError(RuntimeError):
    """A checkpoint could not be written; those that were there before are as they were."""
