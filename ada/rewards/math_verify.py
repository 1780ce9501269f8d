"""The bare math-verify library as a reward: a second opinion on `ada.rewards.math`, for `reward.audit`.

It may hang, which the worker's time limit ends, so it has no limit of its own: its alarms work in main threads only. Text is read by its
LaTeX grammar alone; its plain-expression reader evaluates Python, and is guarded as well as not asked.
"""

from __future__ import annotations

from math_verify import verify

from ada.rewards.answers.extraction import final_answer, unboxed
from ada.rewards.answers.library import parsed
from ada.rewards.functions import UnreadableGold


def score(response: str, answer: str) -> float:
    """1.0 where sympy finds the final answer equal to the gold answer, else 0.0. Raises UnreadableGold where it cannot read the latter."""
    given = final_answer(response)
    if given is None:
        return 0.0
    gold = parsed(unboxed(answer.rpartition("####")[2]))
    if not gold:
        raise UnreadableGold(f"math-verify reads nothing in the gold answer {answer!r:.100}")
    return float(verify(gold, parsed(given), timeout_seconds=None))  # the gold answer goes first: it says what form is asked for
