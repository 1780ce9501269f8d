"""Rewards for the procedural tasks of the reasoning-gym library: each task scores its own answers.

The gold answer is JSON, as ada/data/sources/reasoning_gym.py writes it:

    {"task": "chain_sum", "entry": {"question": ..., "answer": ..., ...}}.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any

import reasoning_gym

from ada.rewards.answers.extraction import final_answer
from ada.rewards.evaluation_guard import NotAFormula, formulas_only
from ada.rewards.functions import UnreadableGold

_MARKED = re.compile(r"<answer>((?:(?!<answer>).)*?)</answer>", re.DOTALL)


def score(response: str, answer: str) -> float:
    """What the task gives the answer: 0 to 1, for most tasks 1 only for a right one. Raises UnreadableGold.

    The answer is what the last <answer>...</answer> holds, of several lines where the task wants them; else the final answer in a box.
    """
    task, entry = _gold(answer)
    marked = _MARKED.findall(response.rpartition("</think>")[2])
    given = marked[-1] if marked else final_answer(response)
    if given is None:
        return 0.0
    with formulas_only():
        try:
            return float(_scorer(task)(given.strip(), json.loads(entry)))  # a copy: some tasks change what they score
        except NotAFormula:
            return 0.0


def gold_problem(answer: str) -> str | None:
    try:
        _gold(answer)
    except UnreadableGold as error:
        return str(error)
    return None


def gold_response(answer: str) -> str | None:
    """The task's own answer, or its example of one; None where it tells none."""
    if gold_problem(answer):
        return None
    entry = json.loads(_gold(answer)[1])
    right = entry["answer"] or entry["metadata"].get("example_correct_answer")
    return f"<answer>{right}</answer>" if right else None


@lru_cache(maxsize=8192)
def _gold(answer: str) -> tuple[str, str]:
    try:
        gold = json.loads(answer)
        _scorer(gold["task"])
        return gold["task"], json.dumps({**gold["entry"], "metadata": gold["entry"]["metadata"]})
    except (ValueError, KeyError, TypeError) as error:
        raise UnreadableGold(f"gold answer {answer!r:.100} is no task of reasoning-gym ({error})") from None


@cache
def _scorer(task: str) -> Callable[[str, dict[str, Any]], float]:
    found: Callable[..., float] = reasoning_gym.get_score_answer_fn(task)
    return lambda answer, entry: found(answer=answer, entry=entry)
