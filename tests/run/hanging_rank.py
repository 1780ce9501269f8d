"""`ada` with arguments of its own, except that rank 1 never comes out of its second update. Light, since reward workers import it too."""

from __future__ import annotations

import os
import sys
import time
from typing import Any


def a_call_that_never_comes_back() -> None:
    time.sleep(600)


def main() -> None:
    from ada.cli import main as ada
    from ada.run import Run

    pack, updates = Run.pack, []

    def hanging(run: Run, sequences: Any) -> Any:
        updates.append(None)
        if os.environ["RANK"] == "1" and len(updates) == 2:
            a_call_that_never_comes_back()
        return pack(run, sequences)

    Run.pack = hanging  # type: ignore[method-assign]
    ada(sys.argv[1:])


if __name__ == "__main__":
    main()
