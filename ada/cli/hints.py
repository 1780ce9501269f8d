"""What a person may have meant who wrote a recipe key as an option: `--steps 5` for `steps=5`."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise


def hints(command: str, unknown: Sequence[str], arguments: Sequence[str]) -> str:
    """For the end of a message about `unknown`, which are among `arguments`."""
    if command == "eval":
        from ada.evaluation.suite import Suite as Section
    else:
        from ada.recipe.schema import Recipe as Section  # type: ignore[assignment]
    from ada.recipe.validate import keys_of

    values = dict(pairwise([*arguments, ""]))
    keys = keys_of(Section)
    by_end = {key.rpartition(".")[2]: key for key in reversed(keys)}
    meant = []
    for text in unknown:
        name, equals, value = text.lstrip("-").partition("=")
        key = name.replace("-", "_")
        if key in keys or key in by_end:
            after = values.get(text, "")
            value = value if equals or after.startswith("-") or "=" in after else after
            meant.append(f"{key if key in keys else by_end[key]}={value or '...'}")
    return f" (keys are given as key=value: {' '.join(meant)})" if meant else " (keys are given as key=value)"
