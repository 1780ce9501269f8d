"""J = E p(x): the expected pass rate, plain policy gradient."""

from __future__ import annotations

from typing import Literal

from ada.config import config


@config
class Linear:
    name: Literal["linear"] = "linear"

    def weight(self, pass_rate: float) -> float:
        return 1.0
