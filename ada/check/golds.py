"""Does the recipe's reward function call a right answer right, and an empty response not right?"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from ada.data.sources import Row
from ada.rewards.config import Reward
from ada.rewards.service import RewardService, Verdict


def wrong_verdicts(reward: Reward, rows: Sequence[Row], import_from: Path, log_path: Path) -> list[str]:
    """One line for each verdict that is not as it must be. Raises ValueError where the function cannot be imported or called."""
    service = RewardService(reward, import_from=[import_from], log_path=log_path)
    try:
        for index, row in enumerate(rows):
            service.submit((index, True), f"The answer is \\boxed{{{unboxed(row.answer)}}}.", row.answer)
        service.submit((0, False), "", rows[0].answer)
        verdicts: dict[tuple[int, bool], Verdict] = {}
        deadline = time.monotonic() + 60 + reward.time_limit_seconds
        while service.pending and time.monotonic() < deadline:
            verdicts |= dict(service.poll(1.0))  # type: ignore[arg-type]
    finally:
        service.close()
    keys = [*((index, True) for index in range(len(rows))), (0, False)]
    return [line for key in keys if (line := _complaint(reward, rows[key[0]], verdicts.get(key), expected=key[1])) is not None]


def unboxed(answer: str) -> str:
    """The content of a gold answer that comes in its box."""
    text = answer.strip()
    return text[len("\\boxed{") : -1] if text.startswith("\\boxed{") and text.endswith("}") else text


def _complaint(reward: Reward, row: Row, verdict: Verdict | None, expected: bool) -> str | None:
    response = "a response that boxes the gold answer" if expected else "an empty response"
    where = f"{reward.function} on {response} (row {row.id}, gold {row.answer!r:.60})"
    if verdict is None:
        return f"{where}: no verdict in time"
    if verdict.failure is not None:
        return f"{where}: failed with {verdict.failure}" if expected else None  # an exception on nothing is counted, and not right
    if verdict.right != expected:
        return f"{where}: reward {verdict.reward:g}, which is {'not ' if expected else ''}above reward.threshold = {reward.threshold:g}"
    return None
