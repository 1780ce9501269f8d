"""Anything a step may measure, as one line of strict JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any


def line(value: Mapping[str, Any]) -> str:
    """One line, no newline in it. NaN and infinities become null, scalars of numpy and torch numbers, unknown things their text."""
    return json.dumps(plain(value), allow_nan=False, ensure_ascii=False)


def plain(value: Any) -> Any:
    """`value` out of dicts, lists, strings, booleans, finite numbers and None alone."""
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(item) for item in value]
    if hasattr(value, "tolist"):  # arrays and tensors, and their scalars
        return plain(value.tolist())
    return str(value)
