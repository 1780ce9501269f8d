"""What a person sees when a command cannot go on: one clear message; the traceback goes to the log."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

from ada.checkpoint.errors import CheckpointError
from ada.data.sources import DataError
from ada.engine.errors import EngineError
from ada.recipe.errors import RecipeError
from ada.trainer.errors import OutOfMemory

WRONG_INPUT, FAILED = 2, 1


def told(act: Callable[[], int]) -> int:
    """The exit code of `act`; 2 where the recipe or what it names is wrong, 1 where the run failed."""
    try:
        return act()
    except (RecipeError, DataError, FileNotFoundError, FileExistsError) as error:
        if os.environ.get("RANK", "0") == "0":  # the other ranks found the same
            _say("error", str(error))
        return WRONG_INPUT
    except (EngineError, CheckpointError, OutOfMemory, FloatingPointError, ValueError) as error:
        rank = os.environ.get("RANK", "0")
        _say("error" if rank == "0" else f"error on rank {rank}", str(error))
        if os.environ.get("WORLD_SIZE", "1") != "1":
            os._exit(FAILED)  # the other ranks wait for this one, and torchrun for its end: taking down the interpreter takes seconds
        return FAILED


def _say(kind: str, text: str) -> None:
    print("\n".join(f"{kind}: {line}" for line in text.splitlines()), file=sys.stderr, flush=True)
