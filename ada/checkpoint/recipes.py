"""Is a recipe the one that a checkpoint was made by?"""

from __future__ import annotations

import dataclasses
from typing import Any

from ada.recipe.schema import Recipe

FREE = ("steps", "checkpoints", "tracking", "output", "run_name", "resume", "watch")
"""Keys that may differ when a run is continued: they steer how far it goes and what is kept of it, not what it computes."""

BOUND = ("seed", "model", "data", "sampling.passrate", "sampling.streaming")
"""Keys that may not even where a change is asked for: what was saved would mean something else."""


def differences(now: Recipe, before: Recipe) -> list[str]:
    """`key = value (the run has value)` of each key that differs and is not free."""
    ours, theirs = _flat(dataclasses.asdict(now)), _flat(dataclasses.asdict(before))
    return [
        f"{key} = {ours.get(key)!r} (the run has {theirs.get(key)!r})"
        for key in sorted({*ours, *theirs})
        if ours.get(key) != theirs.get(key) and not is_among(key, FREE)
    ]


def is_among(key: str, keys: tuple[str, ...]) -> bool:
    """Whether a dotted key is one of `keys` or lies in a section among them."""
    return any(key == one or key.startswith(f"{one}.") for one in keys)


def _flat(values: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in values.items():
        found |= _flat(value, f"{prefix}{key}.") if isinstance(value, dict) and value else {prefix + key: value}
    return found
