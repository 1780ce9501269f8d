"""Rewards for the length of a response, in tokens: parts beside one for being right."""

from __future__ import annotations


def soft_punishment(tokens: int, limit: int, buffer: int) -> float:
    """DAPO's soft over-long punishment (arXiv 2503.14476, eq. 13): 0 up to limit - buffer tokens, then a line down to -1 at `limit`."""
    return -min(max(tokens - (limit - buffer), 0) / buffer, 1.0)


def overlong(response: str, answer: str, *, tokens: int, cut_off: bool, limit: int, buffer: int) -> float:
    """`soft_punishment`; -1 for a response that was cut off. `limit`: generation.max_response_tokens or less (the paper: 20480, 4096)."""
    return -1.0 if cut_off else soft_punishment(tokens, limit, buffer)


def within(response: str, answer: str, *, tokens: int, least: int = 0, most: int) -> float:
    """1.0 for a response of `least` to `most` tokens, else 0.0."""
    return float(least <= tokens <= most)


def ready(*, limit: int | None = None, buffer: int | None = None, least: int = 0, most: int | None = None) -> None:
    """Raises ValueError for lengths that make no sense."""
    if limit is not None and buffer is not None and not 0 < buffer <= limit:
        raise ValueError(f"limit = {limit} and buffer = {buffer}: the buffer is the last part of the limit, 1 to {limit} tokens")
    if most is not None and not 0 <= least <= most:
        raise ValueError(f"least = {least} and most = {most}: allowed is 0 <= least <= most")


def gold_response(answer: str) -> None:
    """A gold answer says nothing about the length."""
