"""From rows to results: each set, each union, all problems together, and the problems of each label."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ada.evaluation.bootstrap import Interval, intervals
from ada.evaluation.passk import pass_curves
from ada.evaluation.row import TRUNCATED, UNKNOWN, Row

ALL = "all"  # what the problems of all sets are called together: the average weighted by the number of problems


@dataclass(frozen=True, slots=True)
class Part:
    """The result over some problems."""

    problems: int
    curve: list[Interval]  # pass@1, pass@2, ...; pass@1 over k samples is avg@k
    truncated: float | None  # of responses; None where there are none
    unknown: float | None
    mean_tokens: float | None
    failures: dict[str, int] = field(default_factory=dict)  # responses without a verdict, by reason
    labels: dict[str, dict[str, Part]] = field(default_factory=dict)  # {"subject": {"Algebra": ...}}

    def to_json(self) -> dict[str, Any]:
        shown = {k: _interval(each) for k, each in enumerate(self.curve, start=1)}
        own: dict[str, Any] = {"problems": self.problems, "avg": shown.get(1), "pass": shown, "mean_tokens": self.mean_tokens}
        own |= {"truncated_fraction": self.truncated, "unknown_fraction": self.unknown, "failures": self.failures}
        return own | {"labels": {k: {v: part.to_json() for v, part in values.items()} for k, values in self.labels.items()}}


def results(
    sets: Mapping[str, Sequence[Row]], unions: Mapping[str, Sequence[str]], labels: Mapping[str, Mapping[str, str]], samples: int
) -> dict[str, Part]:
    """By the name of a set or union, then ALL. `labels`: of a prompt, by its id."""
    found = {name: _labelled(rows, labels, samples) for name, rows in sets.items()}
    found |= {name: part([sets[member] for member in members], samples) for name, members in unions.items()}
    return found | {ALL: part(list(sets.values()), samples)}


def part(groups: Sequence[Sequence[Row]], samples: int) -> Part:
    """Over the rows of several sets together. Raises ValueError for a row that does not have `samples` responses."""
    rows = [row for group in groups for row in group]
    if odd := next((row for row in rows if len(row.verdicts) != samples), None):
        raise ValueError(f"{odd.id} has {len(odd.verdicts)} responses, not {samples}: pass@k over unequal numbers would be mislabelled")
    verdicts, tokens = "".join(row.verdicts for row in rows), [count for row in rows for count in row.tokens]
    failures: Counter[str] = Counter()
    for row in rows:
        failures.update(row.failures)
    return Part(
        problems=len(rows),
        curve=intervals([pass_curves(samples, [row.right for row in group]) for group in groups]),
        truncated=verdicts.count(TRUNCATED) / len(verdicts) if verdicts else None,
        unknown=verdicts.count(UNKNOWN) / len(verdicts) if verdicts else None,
        mean_tokens=sum(tokens) / len(tokens) if tokens else None,
        failures=dict(failures),
    )


def _labelled(rows: Sequence[Row], labels: Mapping[str, Mapping[str, str]], samples: int) -> Part:
    by_value: dict[str, dict[str, list[Row]]] = {}
    for row in rows:
        for label, value in labels.get(row.id, {}).items():
            by_value.setdefault(label, {}).setdefault(value, []).append(row)
    whole = part([rows], samples)
    for label, values in by_value.items():
        whole.labels[label] = {value: part([values[value]], samples) for value in sorted(values)}
    return whole


def _interval(each: Interval) -> dict[str, float]:
    return {"value": each.value, "low": each.low, "high": each.high}
