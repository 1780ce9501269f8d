"""J = E p(x)^alpha: between the pass rate (alpha = 1) and its logarithm (alpha -> 0, up to the factor alpha)."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from ada.config import config


@config
class Power:
    alpha: Annotated[float, Field(gt=0, description="exponent of the pass rate; below 1 hard prompts weigh more")]
    name: Literal["power"] = "power"
    floor: Annotated[float, Field(gt=0, le=1, description="a pass rate below counts as this, so that the weight is finite")] = 0.01

    def weight(self, pass_rate: float) -> float:
        """f'(p) = alpha p^(alpha - 1)."""
        return self.alpha * max(pass_rate, self.floor) ** (self.alpha - 1)
