"""Can the recipe's reward be trusted on its data? Each gold answer must be right itself, and nothing must not.

Beside that, the share without a verdict and, where the recipe names a second reward function, what it judges otherwise.
"""

from __future__ import annotations

import dataclasses
import time
from collections import Counter
from collections.abc import Hashable, Sequence
from pathlib import Path

from ada.check.result import Result
from ada.data.sources import Row
from ada.rewards.config import Reward
from ada.rewards.functions import Facts
from ada.rewards.service import RewardService, Verdict

TOLERATED = 0.01  # share of gold answers that may fail: a data set has a few that nothing can read
COMPARED = 100  # rows whose verdicts a second function gives too
SECONDS = 60.0  # for all verdicts of one function; what has none by then is left out, and said so
CHARACTERS_PER_TOKEN = 4  # a response that is made up here has no tokens


Case = tuple[str, Row]  # a response, and the row it answers


def audit(reward: Reward, rows: Sequence[Row], import_from: Path, log_path: Path) -> Result:
    """Raises ValueError where a function cannot be imported or called."""
    service = RewardService(reward, import_from=[import_from], log_path=log_path)
    try:
        golds = [
            (text, row) for row, text in zip(rows, service.gold_responses([row.answer for row in rows]), strict=True) if text is not None
        ]
        others = [(text, row) for (text, other), (_, row) in zip(golds, golds[1:], strict=False) if other.answer != row.answer][:COMPARED]
        verdicts = _verdicts(service, [*golds, *others, ("", rows[0])])
    finally:
        service.close()
    result = Result()
    _golds(result, reward, golds, verdicts, len(rows) - len(golds))
    _nothing(result, reward, rows[0], verdicts[-1])
    if reward.audit is not None:
        sample = [*range(min(COMPARED, len(golds))), *range(len(golds), len(golds) + len(others))]
        _second(result, reward, [(*golds, *others)[i] for i in sample], [verdicts[i] for i in sample], import_from, log_path)
    return result


def _verdicts(service: RewardService, cases: Sequence[Case]) -> list[Verdict | None]:
    found: dict[Hashable, Verdict] = {}
    deadline = time.monotonic() + SECONDS
    for key, (response, row) in enumerate(cases):
        service.submit(key, response, row.answer, Facts(row.problem, len(response) // CHARACTERS_PER_TOKEN))
        if key % 64 == 0:
            found |= dict(service.poll())
        if time.monotonic() > deadline:
            break
    while service.pending and time.monotonic() < deadline:
        found |= dict(service.poll(1.0))
    return [found.get(key) for key in range(len(cases))]


def _golds(result: Result, reward: Reward, golds: Sequence[Case], verdicts: Sequence[Verdict | None], unwritten: int) -> None:
    judged = [(row, verdict) for (_, row), verdict in zip(golds, verdicts, strict=False) if verdict is not None]
    bad = [(row, verdict) for row, verdict in judged if not verdict.right]
    lines = [_complaint(reward, row, verdict) for row, verdict in bad]
    if bad and len(bad) > TOLERATED * len(judged):
        result.faults += lines
        return
    if golds and not judged:
        result.faults.append(f"{_named(reward)}: no verdict on any gold answer within {SECONDS:g} s")
        return
    unknown = Counter(verdict.failure for _, verdict in judged if verdict.failure is not None)
    result.seen.append(f"{_named(reward)} calls {len(judged) - len(bad)} of {len(judged)} gold answers right")
    result.seen += lines[:5]
    result.seen.append(f"without a verdict: {unknown.total() / max(1, len(judged)):.1%} {dict(unknown) if unknown else ''}".strip())
    if unwritten or len(judged) < len(golds):
        result.seen.append(
            f"not tried: {unwritten} for which no right response can be written, {len(golds) - len(judged)} for lack of time"
        )


def _nothing(result: Result, reward: Reward, row: Row, verdict: Verdict | None) -> None:
    if verdict is not None and verdict.right:
        result.faults.append(_complaint(reward, row, verdict))
    elif verdict is not None:  # an exception on nothing is counted, and not right
        result.seen.append("an empty response is not right")


def _second(
    result: Result, reward: Reward, cases: Sequence[Case], verdicts: Sequence[Verdict | None], import_from: Path, log_path: Path
) -> None:
    """What `reward.audit` judges otherwise, of gold answers and of other rows' gold answers."""
    second = dataclasses.replace(reward, function=reward.audit, arguments={}, parts={}, right=None, audit=None)
    service = RewardService(second, import_from=[import_from], log_path=log_path)
    try:
        theirs = _verdicts(service, cases)
    finally:
        service.close()
    both = [(case, a, b) for case, a, b in zip(cases, verdicts, theirs, strict=True) if a and b and a.failure is b.failure is None]
    apart = [(case, a) for case, a, b in both if a.right != b.right]
    result.seen.append(
        f"{reward.audit} disagrees on {len(apart)} of {len(both)} responses ({len(cases) - len(both)} more without two verdicts)"
    )
    result.seen += [f"{'right' if a.right else 'wrong'} here: {text!r:.80} for gold {row.answer!r:.60}" for (text, row), a in apart[:5]]


def _named(reward: Reward) -> str:
    return ", ".join(part.function for part in reward.named.values())


def _complaint(reward: Reward, row: Row, verdict: Verdict) -> str:
    response = "an empty response" if verdict.right else "a response that gives the gold answer"
    where = f"{_named(reward)} on {response} (row {row.id}, gold {row.answer!r:.60})"
    if verdict.failure is not None:
        return f"{where}: failed with {verdict.failure}"
    value = verdict.reward if reward.right is None else verdict.parts[reward.right]
    return f"{where}: reward {value:g}, which is {'' if verdict.right else 'not '}above reward.threshold = {reward.threshold:g}"
