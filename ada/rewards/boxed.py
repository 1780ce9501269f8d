"""Exact match of the last complete `\\boxed{...}`: for answers with one spelling, such as the micro-world's.

Only the text is judged. Whether a response is finished is known to the engine alone (its finish reason), so the collector counts
cut-off responses as wrong, whatever this score.
"""

from __future__ import annotations

import re

from ada.rewards.functions import UnreadableGold

BRACES = re.compile(r"\\boxed\{|\\[{}]|[{}]")  # an escaped brace is a character of the answer and nests nothing


def last_boxed(text: str) -> str | None:
    """Content of the complete box that opens last; None where there is none. Braces nest; time is linear in the text."""
    open_braces: list[int | None] = []  # where the content of an open box starts; None for a plain brace
    best: tuple[int, int] | None = None
    for brace in BRACES.finditer(text):
        match brace.group():
            case "\\boxed{":
                open_braces.append(brace.end())
            case "{":
                open_braces.append(None)
            case "}" if open_braces:
                start = open_braces.pop()
                if start is not None and (best is None or start > best[0]):
                    best = (start, brace.start())
    return text[slice(*best)] if best else None


def score(response: str, answer: str) -> float:
    """1.0 where the last box holds exactly `answer`, up to outer spaces; else 0.0. An empty gold answer raises UnreadableGold."""
    gold = answer.strip()
    if not gold:
        raise UnreadableGold(f"gold answer {answer!r} is empty: nothing can match it; give the row an answer or drop it")
    boxed = last_boxed(response)
    return float(boxed is not None and boxed.strip() == gold)
