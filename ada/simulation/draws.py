"""What becomes of each draw: its length and its verdict, by its seed alone, so that every sampler meets the same draws."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from scipy.special import ndtri  # quantiles of the normal law

from ada.data.sources import DataError
from ada.types import Draw

DrawLaw = Callable[[Draw], tuple[int, bool]]
"""Tokens of the response, the end token included, and whether it is right."""

GRID = 1 << 14  # quantiles that a law of lengths is kept as
LOW = (1 << 31) - 1


@dataclass(frozen=True)
class Lengths:
    """Tokens of a response: lognormal, or those of a file, and at most `longest`. Right and wrong responses share the law."""

    law: str
    longest: int

    @cached_property
    def quantiles(self) -> list[int]:
        middles = (np.arange(GRID) + 0.5) / GRID
        if law := re.fullmatch(r"\s*lognormal\(\s*([0-9.]+)\s*,\s*([0-9.]+)\s*\)\s*", self.law):
            tokens = float(law[1]) * np.exp(float(law[2]) * ndtri(middles))
        elif Path(self.law).is_file():
            try:
                tokens = np.quantile(np.array(Path(self.law).read_text(encoding="utf-8").split(), dtype=float), middles)
            except ValueError as error:
                raise DataError(f"{self.law}: one number of tokens a line is needed ({error})") from None
        else:
            raise DataError(
                f"lengths {self.law!r}: give lognormal(median,sigma), such as lognormal(650,0.7), or a file with one number a line"
            )
        return [int(n) for n in np.clip(np.rint(tokens), 1, self.longest)]

    @property
    def mean(self) -> float:
        return math.fsum(self.quantiles) / GRID


@dataclass(frozen=True)
class HashedDraws:
    """Half of a draw's seed says whether it is right, the other half how long it is."""

    pass_rates: Mapping[str, float]  # by prompt id
    lengths: Lengths

    def __call__(self, draw: Draw) -> tuple[int, bool]:
        right = (draw.seed & LOW) < self.pass_rates[draw.prompt.id] * LOW
        return self.lengths.quantiles[draw.seed >> 49], right  # of 63 bits, the first 14
