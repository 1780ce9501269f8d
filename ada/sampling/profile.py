"""Pass rates of a set of prompts, for planning: a Beta law by quadrature, or those of a file."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ada.data.sources import DataError
from ada.data.values import probability

Floats = npt.NDArray[np.float64]

NODES = 300  # exact for polynomials in p up to degree 599: all that a pool of so many draws can depend on


@dataclass(frozen=True)
class Profile:
    """A prompt's pass rate is pass_rates_P[i] with probability weights_P[i]."""

    pass_rates_P: Floats
    weights_P: Floats

    def mean(self, values_P: Floats) -> float:
        return float(self.weights_P @ values_P)


def read_profile(text: str) -> Profile:
    """`beta(a,b)`; or a file with one pass rate a line, a number or a JSON object with the key `pass_rate`; or a parquet file with that
    column, such as `ada prepare` writes. Raises DataError."""
    if law := re.fullmatch(r"\s*beta\(\s*([^,\s]+)\s*,\s*([^,\s]+)\s*\)\s*", text):
        try:
            a, b = float(law[1]), float(law[2])
        except ValueError:
            a = b = -1.0
        if not (0 < a < np.inf and 0 < b < np.inf):
            raise DataError(f"pass rates {text!r}: both numbers of beta(a,b) must be above 0, for example beta(0.5,1.5)")
        return beta(a, b)
    path = Path(text)
    if not path.is_file():
        raise DataError(f"pass rates {text!r}: no such file; give a file with one pass rate a line, or a law such as beta(0.5,1.5)")
    rates = list(_of_table(path) if path.suffix == ".parquet" else _of_lines(path))
    if not rates:
        raise DataError(f"{path}: no pass rates; one a line is needed")
    values, counts = np.unique(rates, return_counts=True)
    return Profile(values, counts / counts.sum())


def _of_lines(path: Path) -> Iterator[float]:
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if line.strip():
            yield _pass_rate(line, f"{path}, line {number}")


def _of_table(path: Path) -> Iterator[float]:
    from ada.data.sources.parquet import Parquet

    for where, _, record in Parquet(path=str(path), problem="pass_rate", answer="pass_rate").records():
        if "pass_rate" not in record:
            raise DataError(f"{where}: no column 'pass_rate'; the columns are {sorted(record)}")
        yield probability(record, "pass_rate", where)


def _pass_rate(line: str, where: str) -> float:
    try:
        value = json.loads(line)
    except json.JSONDecodeError:
        value = line
    if isinstance(value, dict):
        if "pass_rate" not in value:
            raise DataError(f"{where}: no key 'pass_rate'; the object has {sorted(value)}")
        value = value["pass_rate"]
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise DataError(f"{where}: found {value!r}; a pass rate is a number from 0 to 1")
    return float(value)


def beta(a: float, b: float, nodes: int = NODES) -> Profile:
    """Gauss-Jacobi quadrature of the Beta(a, b) law: the eigenvalues of its polynomials' three-term recurrence (Golub and Welsch, 1969)."""
    k = np.arange(nodes, dtype=np.float64)
    total = 2 * k + a + b - 2  # of the Jacobi polynomials with exponents b - 1 and a - 1, on [-1, 1]
    diagonal = np.empty(nodes)
    diagonal[0] = (a - b) / (a + b)
    diagonal[1:] = (a - b) * (a + b - 2) / (total[1:] * (total[1:] + 2))
    squared = np.empty(nodes)
    squared[1:2] = 4 * a * b / ((a + b) ** 2 * (a + b + 1))
    k, total = k[2:], total[2:]
    squared[2:] = 4 * k * (k + b - 1) * (k + a - 1) * (k + a + b - 2) / (total**2 * (total + 1) * (total - 1))
    off = np.sqrt(squared[1:])
    places, vectors = np.linalg.eigh(np.diag(diagonal) + np.diag(off, 1) + np.diag(off, -1))
    weights = vectors[0] ** 2
    return Profile(np.clip((1 + places) / 2, 0.0, 1.0), weights / weights.sum())
