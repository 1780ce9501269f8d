"""Rewards for multiple-choice questions: the letter of the choice, or of several."""

from __future__ import annotations

from ada.rewards.answers import choice
from ada.rewards.answers.extraction import final_answer, unboxed
from ada.rewards.answers.spelling import canonical
from ada.rewards.functions import UnreadableGold


def score(response: str, answer: str) -> float:
    """1.0 where the final answer names exactly the gold letters (A to J): `B`, `(B)`, `(B) 42`, `option B`, `A, C`. Order is free.

    Raises UnreadableGold for a gold answer that is no letter.
    """
    gold = choice.chosen(canonical(unboxed(answer)))
    if not gold:
        raise UnreadableGold(f"gold answer {answer!r:.100} names no choice; allowed are the letters A to J, one or several")
    return float(choice.chosen(canonical(final_answer(response) or "")) == gold)
