"""Two models on the same problems: the paired difference, with its interval over problems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ada.evaluation.bootstrap import Interval, intervals
from ada.evaluation.passk import pass_curves
from ada.evaluation.results import ALL
from ada.evaluation.row import Row

Sets = Mapping[str, Sequence[Row]]


@dataclass(frozen=True, slots=True)
class Difference:
    """Second minus first, over the problems that both were asked."""

    problems: int
    curve: list[Interval]  # of pass@1 (avg), pass@2, ..., up to what both have samples for


def differences(first: Sets, second: Sets, unions: Mapping[str, Sequence[str]]) -> dict[str, Difference]:
    """By set, union and ALL; a set or union that the two do not share is left out. Pairing takes the problems' own spread out of it."""
    paired = {name: _paired(rows, second[name]) for name, rows in first.items() if name in second}
    paired = {name: values for name, values in paired.items() if len(values)}
    groups = {name: [name] for name in paired}
    groups |= {name: list(members) for name, members in unions.items() if paired.keys() >= set(members)}
    if paired:
        groups[ALL] = list(paired)
    most = min((values.shape[1] for values in paired.values()), default=0)
    return {
        name: Difference(sum(len(paired[m]) for m in members), intervals([paired[m][:, :most] for m in members]))
        for name, members in groups.items()
    }


def _paired(first: Sequence[Row], second: Sequence[Row]) -> np.ndarray:
    """[P, K]: second minus first, of pass@1 to pass@K, for the problems in both; K: the samples that both have."""
    other = {row.id: row for row in second}
    pairs = [(row, other[row.id]) for row in first if row.id in other]
    most = min((min(len(a.verdicts), len(b.verdicts)) for a, b in pairs), default=0)
    curves = [
        pass_curves(len(rows[0].verdicts), [row.right for row in rows])[:, :most]
        for rows in ([a for a, _ in pairs], [b for _, b in pairs])
        if rows
    ]
    return curves[1] - curves[0] if pairs else np.zeros((0, 0))
