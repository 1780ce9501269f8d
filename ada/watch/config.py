"""The recipe's section `watch`."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from ada.config import config


@config
class Watch:
    hang_seconds: Annotated[
        float, Field(gt=0, description="a rank that gets no further for so long ends the job; ten times as long while the run starts")
    ] = 300.0
    lost_seconds: Annotated[float, Field(gt=0, description="a rank that gives no sign of life for so long ends the job")] = 60.0
    memory_growth: Annotated[
        float, Field(gt=0, description="growth of the host's memory that is warned of, as a share of what it was after the first steps")
    ] = 0.5
