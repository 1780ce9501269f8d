"""J = E log p(x): the log-likelihood of a right answer (Reinforce-Ada, arXiv 2510.04996, sec. 3)."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from ada.config import config


@config
class Log:
    name: Literal["log"] = "log"
    floor: Annotated[float, Field(gt=0, le=1, description="a pass rate below counts as this, so that the weight is at most 1 / floor")] = (
        0.01
    )

    def weight(self, pass_rate: float) -> float:
        """f'(p) = 1 / p."""
        return 1 / max(pass_rate, self.floor)
