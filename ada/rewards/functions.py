"""Calls a recipe's reward functions, of whatever kind, and reads what they return. Standard library only: it runs in the workers."""

from __future__ import annotations

import asyncio
import importlib
import inspect
import math
import numbers
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple


class Facts(NamedTuple):
    """What a function learns of a response if it has a keyword parameter of the name."""

    prompt: str = ""  # the text that the model continued
    tokens: int = 0  # of the response, its end token included
    cut_off: bool = False  # by the token budget. A function that does not ask is not called for such a response: its value is 0


class Task(NamedTuple):
    response: str
    answer: str
    facts: Facts = Facts()


class Score(NamedTuple):
    """What a worker sends back. `failure` names what went wrong, `detail` explains it to people."""

    reward: float = 0.0
    parts: dict[str, float] = {}
    failure: str | None = None
    detail: str = ""


class Unusable(ValueError):
    """A reward function that cannot be imported or called; says why."""


@dataclass(frozen=True, slots=True)
class Scorer:
    """One part of the reward. `name` is empty where it is the only one."""

    name: str
    weight: float
    module: str
    function: Callable[..., Any]
    arguments: Mapping[str, Any]
    asks: tuple[str, ...]  # the facts that it takes
    waits: bool  # an async function
    gold_problem: Callable[[str], str | None] | None  # of its module: why a gold answer cannot be read

    async def __call__(self, task: Task) -> dict[str, float]:
        """Its values by name, the one that counts under `reward`. Whatever the function raises goes through; ValueError for a bad value."""
        if task.facts.cut_off and "cut_off" not in self.asks:
            return {"reward": 0.0}
        value = self.function(task.response, task.answer, **self.arguments, **{name: getattr(task.facts, name) for name in self.asks})
        values = read(await value if self.waits else value)
        if not values["reward"] and self.gold_problem and (problem := self.gold_problem(task.answer)):
            raise UnreadableGold(problem)  # the answer may be right in another spelling: nobody can tell
        return values


class UnreadableGold(ValueError):
    """A gold answer with which no response can be compared."""


class BadValue(ValueError):
    """A reward function returned neither a finite number nor a dict of them."""


def find(function: str, name: str = "", weight: float = 1.0, arguments: Mapping[str, Any] | None = None) -> Scorer:
    """The function `module:function`, checked to take (response, answer) and the arguments. Raises Unusable."""
    module_name, _, attribute = function.partition(":")
    arguments = arguments or {}
    try:
        found = getattr(importlib.import_module(module_name), attribute, None)
    except BaseException:
        raise Unusable(f"importing module {module_name!r} failed:\n{traceback.format_exc(limit=-5)}") from None
    gold_problem = getattr(sys.modules[module_name], "gold_problem", None)
    if not callable(found):
        raise Unusable(f"module {module_name!r} has no function {attribute!r}")
    waits = any(inspect.iscoroutinefunction(code) for code in (found, type(found).__call__))
    try:
        signature = inspect.signature(found)
    except ValueError:  # a builtin may tell nothing about its parameters
        return Scorer(name, weight, module_name, found, arguments, (), waits, gold_problem)
    asks = tuple(fact for fact in Facts._fields if fact in signature.parameters and fact not in arguments)
    try:
        signature.bind("response", "answer", **arguments, **dict.fromkeys(asks))
    except TypeError as error:
        shown = ", ".join(["response", "answer", *(f"{key}={value!r}" for key, value in arguments.items()), *asks])
        raise Unusable(f"it cannot be called as {attribute}({shown}): {error}") from None
    return Scorer(name, weight, module_name, found, arguments, asks, waits, gold_problem)


async def score(task: Task, scorers: Sequence[Scorer]) -> Score:
    """The weighted sum of all parts, and each by itself. Whatever a function does, short of ending the process, becomes a Score."""
    reward, parts = 0.0, {}
    try:
        for scorer in scorers:
            values = await scorer(task)
            value = values.pop("reward")
            reward += scorer.weight * value
            if scorer.name:
                parts[scorer.name] = value
                parts |= {f"{scorer.name}/{name}": number for name, number in values.items()}
            else:
                parts |= values
    except (BadValue, UnreadableGold) as error:
        return Score(failure="bad_value" if isinstance(error, BadValue) else "unreadable_gold", detail=str(error))
    except asyncio.CancelledError:
        raise
    except BaseException as error:  # some scorers' own time-outs are no Exception; none may end the worker
        return Score(failure=type(error).__name__, detail=traceback.format_exc(limit=-5))
    return Score(reward, parts) if math.isfinite(reward) else Score(failure="bad_value", detail=f"the weighted sum is {reward}")


def read(value: Any) -> dict[str, float]:
    """A finite number, or a dict of them with the key `reward`: what is trained on, beside others to log. False is 0, None no value."""
    if not isinstance(value, dict):
        value = {"reward": value}
    values = {name: _finite(part) for name, part in value.items()}
    if "reward" not in value or any(number is None or not isinstance(name, str) for name, number in values.items()):
        raise BadValue(f"returned {value!r:.200}; allowed: a finite number, or a dict of them with the key 'reward'")
    return values  # type: ignore[return-value]


def _finite(value: Any) -> float | None:
    if getattr(value, "ndim", None) == 0:  # a numpy or torch scalar
        value = value.item()
    if not isinstance(value, numbers.Real) or not math.isfinite(value):
        return None
    return float(value)
