"""The recipe's section `checkpoints`."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from ada.config import config


@config
class Checkpoints:
    every: Annotated[
        int, Field(ge=0, description="steps between checkpoints; 0: only after the last step, and when the run is stopped")
    ] = 0
    keep: Annotated[
        int | None,
        Field(ge=1, description="newest checkpoints that stay, beside the best by held-out accuracy, which always does; null: all"),
    ] = None
    grace_seconds: Annotated[
        float,
        Field(
            gt=0,
            description="from SIGTERM to the end of the process, in which the step's update is finished and a checkpoint written; "
            "Kubernetes and Slurm send SIGKILL after 30 s unless told otherwise",
        ),
    ] = 25.0
