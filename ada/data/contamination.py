"""Evaluation problems that the training set holds as well: what is learned by heart would look like progress.

The same: equal normal forms (ada/data/normal_form.py). Nearly the same: half or more of the evaluation problem's runs of 8 words and
signs occur in one training problem; a template that two problems share can do that too, so these are for a person to look at.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ada.data.normal_form import tokens

RUN = 8  # words and signs
NEAR = 0.5  # of an evaluation problem's runs


@dataclass(frozen=True, slots=True)
class Overlap:
    """Of one evaluation set: its problems with the same, or nearly the same, one in training, each with the first such."""

    problems: int
    same: dict[str, str] = field(default_factory=dict)  # evaluation id -> training id
    near: dict[str, str] = field(default_factory=dict)

    @property
    def found(self) -> str | None:
        """None where nothing overlaps."""
        parts = [
            f"{len(pairs)} of {self.problems} problems {kind} (first: {next(iter(pairs))} as {next(iter(pairs.values()))})"
            for kind, pairs in (("are in the training data", self.same), ("have a near copy there", self.near))
            if pairs
        ]
        return ", ".join(parts) or None


def overlaps(train: Mapping[str, str], held_out: Mapping[str, Mapping[str, str]]) -> dict[str, Overlap]:
    """`train`: problems by id. `held_out`: the same of each evaluation set. Time: linear in the words of all."""
    found = {label: Overlap(len(problems)) for label, problems in held_out.items()}
    exact: dict[str, list[tuple[str, str]]] = defaultdict(list)  # normal form -> evaluation problems (set, id)
    holders: dict[int, list[tuple[str, str]]] = defaultdict(list)  # a run's hash -> evaluation problems
    runs_in: dict[tuple[str, str], int] = {}
    for label, problems in held_out.items():
        for id, problem in problems.items():
            words = tokens(problem)
            exact[" ".join(words)].append((label, id))
            runs = set(_runs(words))
            runs_in[label, id] = len(runs)
            for run in runs:
                holders[run].append((label, id))
    for train_id, problem in train.items():
        words = tokens(problem)
        for label, id in exact.get(" ".join(words), ()):
            found[label].same.setdefault(id, train_id)
        shared = Counter(place for run in set(_runs(words)) if run in holders for place in holders[run])
        for (label, id), count in shared.items():
            if count >= NEAR * runs_in[label, id]:
                found[label].near.setdefault(id, train_id)
    for overlap in found.values():
        for id in overlap.same:
            overlap.near.pop(id, None)
    return found


def _runs(words: list[str]) -> Iterable[int]:
    return (hash(tuple(words[start : start + RUN])) for start in range(len(words) - RUN + 1))
