"""The reward of a shrunk run: random weights answer nothing right, so a coin that the response's text tosses takes the recipe's place.

Standard library only: reward workers import it.
"""

from __future__ import annotations

import hashlib


def score(response: str, answer: str) -> float:
    """1.0 for about half of all texts, 0.0 for the others; the same text always gets the same."""
    return float(hashlib.blake2b(response.encode("utf-8", "backslashreplace"), digest_size=1).digest()[0] % 2)
