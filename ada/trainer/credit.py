"""From groups to the sequences of an update: each response's advantage, weighted by the objective and by its importance."""

from __future__ import annotations

from collections.abc import Sequence as Many
from typing import Literal

from ada.contracts import Advantage, EntropyGuided, Objective
from ada.types import Group, Sequence

ZeroVariance = Literal["keep", "drop", "reject"]


def credit(group: Group, advantage: Advantage, objective: Objective) -> list[float]:
    """advantage * f'(pass rate of the pool) * importance weight, of each attempt of the group."""
    if not group.attempts:
        return []
    slope = objective.weight(group.pass_rate)
    return [a * slope * w for a, w in zip(advantage.advantages(group), group.weights, strict=True)]


def to_sequences(
    groups: Many[Group],
    advantage: Advantage,
    objective: Objective,
    zero_variance: ZeroVariance,
    truncated: Literal["keep", "drop"] = "keep",
    version: int = 0,
) -> list[Sequence]:
    """The update's sequences, group by group. `drop` leaves out the groups in which no response has any credit (zero_variance), and the
    responses that were cut off (truncated: DAPO's over-long filtering, arXiv 2503.14476, sec. 3.4); the others' credit stays the same.
    `reject` leaves out the groups whose pool is all right or all wrong (Reinforce-Rej, arXiv 2504.11343). `version`: of the weights that
    the update begins with; tokens of older ones are stale.

    None at all where no response has any credit: an entropy bonus alone must not move the policy.
    """
    sequences = []
    for index, group in enumerate(groups):
        credits = credit(group, advantage, objective)
        if zero_variance == "reject" and group.pass_rate in (0.0, 1.0) or zero_variance == "drop" and not any(credits):
            continue
        by_entropy = isinstance(advantage, EntropyGuided) and advantage.by_entropy(group)
        for attempt, value in zip(group.attempts, credits, strict=True):
            response = attempt.response
            if truncated == "drop" and response.finish_reason == "length":
                continue
            stale = response.older_than(version)
            sequences.append(Sequence(group.prompt.token_ids, response.token_ids, response.logprobs, value, index, by_entropy, stale))
    return sequences if any(sequence.advantage for sequence in sequences) else []
