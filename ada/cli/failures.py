"""What a person sees when a command cannot go on: one clear message; the traceback goes to the log."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable

from ada.data.sources import DataError
from ada.engine.errors import EngineError
from ada.recipe.errors import RecipeError

log = logging.getLogger(__name__)

WRONG_INPUT, FAILED = 2, 1


def told(act: Callable[[], int]) -> int:
    """The exit code of `act`; 2 where the recipe or what it names is wrong, 1 where the run failed."""
    try:
        return act()
    except (RecipeError, DataError, FileNotFoundError, FileExistsError) as error:
        _say("error", str(error))
        return WRONG_INPUT
    except (EngineError, FloatingPointError, ValueError) as error:
        log.exception("the run failed")
        _say("error", str(error))
        return FAILED


def _say(kind: str, text: str) -> None:
    if os.environ.get("RANK", "0") == "0":  # the other ranks found the same
        print("\n".join(f"{kind}: {line}" for line in text.splitlines()), file=sys.stderr, flush=True)
