"""The page's tables in Markdown: those that are exact, and the one that is drawn by chance."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import cache
from typing import Any

import numpy as np

from ada.laboratory.rows import ONE_BY_ONE, POS, SEQ, Row, recipe_rows, reference_rows
from ada.laboratory.stopped import credit_shares, mean_haldane, mean_pass_rate
from ada.laboratory.summary import OBJECTIVES, PASS_RATES, Summary, derivative, summarise
from ada.laboratory.trial import run_trial
from ada.observability.numbers import compact
from ada.sampling.groups.all import All
from ada.sampling.groups.balanced import Balanced
from ada.sampling.passrate.ema import EMA
from ada.trainer.advantages.maxrl import MaxRL
from ada.trainer.losses.raft import RAFT

DIRECTIONS = ("linear", "power", "log", "logit")
RATES = [f"{p:g}" for p in PASS_RATES]
DROPPED = {"keep": "", "drop": ", groups without credit dropped", "reject": ", pools of one outcome dropped"}
STEPS, COPIES = 400, 4  # of the table that is drawn by chance


EXACT = ("weights", "references", "bias", "asked", "noise", "stopped", "shares", "rows")


def exact_tables(names: Collection[str] = EXACT) -> dict[str, str]:
    recipes, references = recipe_rows(), reference_rows()

    @cache
    def found(row: Row) -> Summary:
        return summarise(row.estimator)

    makers: dict[str, Callable[[], str]] = {
        "weights": lambda: _weights(recipes, found, targets=True),
        "references": lambda: _weights(references, found, targets=False),
        "bias": lambda: _bias((*recipes, *references), found),
        "asked": lambda: _asked(recipes),
        "noise": lambda: _noise((*recipes, *references), found),
        "stopped": _stopped,
        "shares": _shares,
        "rows": lambda: _rows(recipes),
    }
    return {name: makers[name]() for name in names}


Find = Callable[[Row], Summary]


def _weights(rows: Sequence[Row], find: Find, *, targets: bool) -> str:
    truth = [[f"*{name}*", "", *map(number, derivative(name, PASS_RATES)), *[""] * len(DIRECTIONS)] for name in DIRECTIONS]
    return table(
        ["", "responses", *RATES, *(f"cos {name}" for name in DIRECTIONS)],
        [
            *(truth if targets else []),
            *(
                [row.label, number(s.drawn), *map(number, s.weights_P), *(f"{s.cosine(name):.3f}" for name in DIRECTIONS)]
                for row, s in ((row, find(row)) for row in rows)
            ),
        ],
    )


def _bias(rows: Iterable[Row], find: Find) -> str:
    cells = []
    for row in rows:
        s, name = find(row), row.aim
        relative = [f"{100 * (x - 1) + 1e-9:+.1f}" for x in s.relative_weights(name)]
        cells.append([row.label, name, number(s.length(name)), *relative])
    return table(["", "aim", "length", *(f"{p} %" for p in RATES)], cells)


def _asked(rows: Iterable[Row]) -> str:
    cells, seen = [], set()
    for row in rows:
        if isinstance(row.estimator.loss, RAFT) or isinstance(row.estimator.advantage, MaxRL):
            continue  # refused: they do not read the objective, or bring their own weight
        key = dataclasses.replace(row.estimator, objective=OBJECTIVES["linear"]).same_gradient
        if key in seen:
            continue
        seen.add(key)
        found = {name: summarise(dataclasses.replace(row.estimator, objective=_as_in_recipes(name))) for name in OBJECTIVES}
        cells.append([row.label, *(f"{s.cosine(name):.3f}" for name, s in found.items()), *(number(s.noise) for s in found.values())])
    return table(["", *(f"cos {name}" for name in OBJECTIVES), *(f"noise {name}" for name in OBJECTIVES)], cells)


def _as_in_recipes(name: str) -> Any:
    objective = OBJECTIVES[name]
    return dataclasses.replace(objective, floor=0.01) if name != "linear" else objective  # type: ignore[type-var]


def _noise(rows: Iterable[Row], find: Find) -> str:
    cells = [[row.label, *map(number, find(row).noise_P), number(find(row).noise)] for row in rows]
    return table(["", *RATES, "all"], cells)


def _stopped() -> str:
    paper = dataclasses.replace(POS, check_every=8)
    two = dataclasses.replace(ONE_BY_ONE, positives=2)
    rows = [
        ("seq pos, K 1, M 8, at most 32", paper, mean_pass_rate),
        ("seq pos, K 1, M 4, at most 32", POS, mean_pass_rate),
        ("seq balance, K 2/2, M 4, at most 32", SEQ, mean_pass_rate),
        ("seq pos, K 2, M 1, at most 128", two, mean_pass_rate),
        ("the same, Haldane's (K - 1) / (N - 1)", two, mean_haldane),
    ]
    return table(["", *RATES], [[label, *(f"{mean(schedule, p) + 1e-9:.4f}" for p in PASS_RATES)] for label, schedule, mean in rows])


def _shares() -> str:
    cells = []
    for right in (1, 2, 8, 16, 24, 30):
        whole, balanced = credit_shares(All(), None, 32, right), credit_shares(Balanced(), 4, 32, right)
        cells.append([f"{right}/32", *(f"{share + 1e-9:.3f}" for share in (*whole, *balanced))])
    return table(["p̂ of the pool", "all: right", "all: wrong", "balanced 4: right", "balanced 4: wrong"], cells)


def _rows(rows: Iterable[Row]) -> str:
    return table(
        ["", "schedule", "group", "credit", "objective", "loss", "also"],
        [
            [
                row.label,
                described(e.schedule) + (f", beliefs of {e.passrate.name}" if e.passrate else ""),
                described(e.group) + (f", n = {e.size}" if e.size else ""),
                described(e.advantage) + DROPPED[e.zero_variance],
                described(e.objective),
                e.loss.name,
                ", ".join(row.also),
            ]
            for row, e in ((row, row.estimator) for row in rows)
        ],
    )


def chance_table() -> str:
    """Steps of 24 prompts: what a recipe's step does, its own denominators and beliefs included, against the exact tables."""
    cells = []
    for row in recipe_rows():
        for learned in (False, True) if isinstance(row.estimator.passrate, EMA) else (False,):
            summary = summarise(row.estimator)
            trial = run_trial(row.estimator, PASS_RATES, copies=COPIES, steps=STEPS, learned_beliefs=learned)
            exact_P = np.array([m.weight for m in summary.of])
            found_P, error_P = trial.weights()
            size, size_error = trial.size_against(summary.weights_P * summary.shares_P)
            label = f"{row.label}, learned beliefs" if learned else row.label
            ratios = [f"{w / x:.2f} ± {1.96 * e / abs(x):.2f}" for w, e, x in zip(found_P, error_P, exact_P, strict=True)]
            cells.append([label, *ratios, f"{size:.3f} ± {1.96 * size_error:.3f}"])
    return table(["", *RATES, "whole step"], cells)


def described(method: Any) -> str:
    """A method as a recipe writes it, small numbers that only keep a fraction finite left out."""
    fields = [
        f"{f.name} {described(value) if dataclasses.is_dataclass(value) else f'{value:g}' if isinstance(value, float) else value}"
        for f in dataclasses.fields(method)
        if f.name not in ("name", "epsilon") and (value := getattr(method, f.name)) is not None
    ]
    return f"{method.name} ({', '.join(fields)})" if fields else str(method.name)


def number(value: float) -> str:
    """Three digits; the nudge settles ties that the last bit of a sum would decide."""
    return compact(float(value) * (1 + 1e-9))


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(cells) + " |" for cells in (columns, ["---", *["---:"] * (len(columns) - 1)], *rows)]
    return "\n".join(lines)
