"""Rewards for numbers with a tolerance: physical quantities, estimates, anything where being close is being right."""

from __future__ import annotations

from fractions import Fraction

from ada.rewards.answers.evaluation import evaluate, rounded, symbols
from ada.rewards.answers.extraction import final_answer, unboxed
from ada.rewards.answers.limits import ANSWER_CHARACTERS, Unreadable
from ada.rewards.answers.meaning import Answer, Collection, Equation, Named, Value
from ada.rewards.answers.reading import read
from ada.rewards.answers.spelling import canonical
from ada.rewards.functions import UnreadableGold


def score(response: str, answer: str, *, relative: float = 0.01, absolute: float = 0.0) -> float:
    """1.0 where the final answer is within `relative` times the gold number, or within `absolute`, of it; else 0.0.

    The response may be any formula with a value (`\\frac{100}{3}`, `3.3 \\times 10^1`); its unit is not looked at, a percent sign is.
    Raises UnreadableGold for a gold answer that is no number.
    """
    gold = number(unboxed(answer), lenient=False)
    if gold is None:
        raise UnreadableGold(f"gold answer {answer!r:.100} is no number")
    given = number(final_answer(response) or "", lenient=True)
    if given is None:
        return 0.0
    return float(abs(given - gold) <= max(Fraction(relative) * abs(gold), Fraction(absolute)))


def ready(*, relative: float = 0.01, absolute: float = 0.0) -> None:
    """Raises ValueError for a tolerance that is negative or not finite."""
    if not 0 <= relative < float("inf") or not 0 <= absolute < float("inf"):
        raise ValueError(f"relative = {relative} and absolute = {absolute}: a tolerance is 0 or a positive number")


def number(text: str, lenient: bool) -> Fraction | None:
    """The value of an answer that is one real number; None for every other."""
    if not text or len(text) > ANSWER_CHARACTERS:
        return None
    return next((value for reading in read(canonical(text), lenient) if (value := _value(reading)) is not None), None)


def _value(answer: Answer) -> Fraction | None:
    match answer:
        case Named(value=inner) | Equation(value=inner) if inner is not None:
            return _value(inner)
        case Collection("list" | "set", (single,)):
            return _value(single)
        case Value(tree) if not symbols(tree):
            try:
                exact = evaluate(tree, {}, real=True)
                value = exact if isinstance(exact, Fraction) else _fraction(rounded(exact))
            except (Unreadable, ValueError, OverflowError):
                return None
            return value / 100 if answer.percent else value
    return None


def _fraction(x: object) -> Fraction:
    """Exactly the value of a rounded number. Raises ValueError or OverflowError for an infinite one."""
    sign, mantissa, exponent, _ = x._mpf_  # type: ignore[attr-defined]
    if not mantissa and exponent:
        raise ValueError("not finite")
    if abs(exponent) > 100_000:
        raise OverflowError("beyond what a tolerance could reach")
    return (-1) ** sign * Fraction(int(mantissa)) * Fraction(2) ** exponent
