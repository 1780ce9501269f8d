"""Rewards for mathematical answers: 1.0 where the response's final answer means the same as the gold answer, else 0.0.

    response ── extraction ──► answer text ── spelling ──► canonical text ── reading ──► what it means ── comparison ──► 1.0 or 0.0

Nothing here runs model text, needs a signal or starts a process, and all work is bounded (`answers/limits.py`): a score takes about a
millisecond in any thread. What cannot be read is left to math-verify and sympy (`answers/library.py`), within bounds that end it in two
seconds whatever the response.
"""

from __future__ import annotations

from functools import lru_cache

from ada.rewards.answers import choice, library
from ada.rewards.answers.comparison import same
from ada.rewards.answers.extraction import final_answer, marked_value, unboxed
from ada.rewards.answers.limits import ANSWER_CHARACTERS
from ada.rewards.answers.meaning import Words
from ada.rewards.answers.reading import read
from ada.rewards.answers.spelling import canonical, compact, joined_thousands
from ada.rewards.functions import UnreadableGold

_WORDS_OF_AN_ANSWER = 6  # a gold answer of more words is a remark rather than an answer


def score(response: str, gold: str) -> float:
    """1.0 if right, else 0.0; never raises. An empty gold answer is matched by nothing: `gold_problem` refuses it before a run."""
    answer = final_answer(response)
    if answer is None:
        return 0.0
    return float(_agree(_gold_text(gold), canonical(answer)))


def gold_response(answer: str) -> str:
    """A response that must be right; of a whole GSM8K solution, what follows ####."""
    return f"The answer is \\boxed{{{unboxed(answer.rpartition('####')[2])}}}."


def gold_problem(gold: str) -> str | None:
    """Why this gold answer can be matched by its own spelling alone; None if it is fine. An empty one raises UnreadableGold."""
    text = _gold_text(gold)
    if not text:
        raise UnreadableGold(f"gold answer {gold!r} is empty: nothing can match it; give the row an answer or drop it")
    readings = read(text, lenient=False)
    if choice.letters(text) or any(not isinstance(reading, Words) for reading in readings):
        return None
    if readings and len(text.split()) <= _WORDS_OF_AN_ANSWER:
        return None
    return f"gold answer {gold!r} is no formula, number, set or short word that can be read: only the same spelling will match it"


@lru_cache(maxsize=8192)
def _gold_text(gold: str) -> str:
    """Of a whole GSM8K solution, what follows ####; of a boxed answer, the content."""
    solution, marker, last = gold.rpartition("####")
    return canonical(unboxed((last if marker else gold)[:ANSWER_CHARACTERS]))


def _agree(gold: str, answer: str) -> bool:
    if not gold or not answer:
        return False
    if compact(joined_thousands(gold)) == compact(joined_thousands(answer)):
        return True
    letters = choice.letters(gold)
    if letters and letters == choice.chosen(answer):
        return True
    golds, answers = read(gold, lenient=False), [read(variant, lenient=True) for variant in _variants(answer)]
    if any(same(ours, theirs) for readings in answers for theirs in readings for ours in golds):
        return True
    return not (golds and answers[0]) and library.agree(gold, answer)


def _variants(answer: str) -> list[str]:
    """The answer; what stands behind its choice letter; what follows a marker inside it, as in "The answer is 42"."""
    marked = marked_value(answer.replace("\\text{", "").replace("}", "")) if "answer" in answer.casefold() else None
    return [answer, *(text for text in (choice.without_label(answer), marked and canonical(marked)) if text)]
