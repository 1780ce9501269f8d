"""The responses that a page shows: spread over the whole run, and cut where they are long."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ada.report.record import Row

MOST_SAMPLES = 1000  # on a page
MOST_CHARACTERS = 1_500_000  # of all texts on a page; at 1,000 samples 1,500 for each
SHORTEST_CUT = 400  # no text is cut below so many characters

TEXTS = ("prompt", "response", "answer")


def chosen(samples: Sequence[Row], most: int = MOST_SAMPLES) -> list[Row]:
    """At most `most`, evenly spaced, the first and the last among them."""
    if len(samples) <= most:
        return list(samples)
    return [samples[round(i * (len(samples) - 1) / (most - 1))] for i in range(most)]


def shown(samples: Sequence[Row], run: int, characters: int) -> list[dict[str, Any]]:
    """`run`: its number on the page. Of a text longer than `characters` the beginning and the end stay, where the answer is."""
    keys = ("step", "prompt_id", "draw", "verdict", "reward", "finish_reason", "tokens")
    return [
        {"run": run} | {key: row.get(key) for key in keys} | {key: cut(str(row.get(key, "")), characters) for key in TEXTS}
        for row in samples
    ]


def cut(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    head, tail = text[: most // 2], text[-(most - most // 2) :]
    return f"{head}\n[… {len(text) - most:,} characters left out …]\n{tail}"
