"""python -m ada.launch ...: torchrun, except that SIGTERM is the ranks' to answer.

They save and exit with 0 (ada/shutdown.py), and so does the launcher, as all its ranks have ended well. torchrun by itself passes the
signal on too, but then ends with a traceback and code 1 whatever becomes of the ranks: a batch system would take a job that was saved
for one that failed.
"""

from __future__ import annotations

import contextlib
import signal
import sys
from types import FrameType

import psutil

OF_TORCHRUN = "--signals-to-handle=SIGINT,SIGHUP,SIGQUIT"


def main(arguments: list[str]) -> None:
    signal.signal(signal.SIGTERM, _pass_on)
    from torch.distributed.run import main as torchrun

    torchrun([OF_TORCHRUN, *arguments])


def _pass_on(number: int, frame: FrameType | None) -> None:
    ranks = psutil.Process().children()
    if not ranks:
        sys.exit(128 + number)
    for rank in ranks:
        with contextlib.suppress(psutil.NoSuchProcess):
            rank.send_signal(number)


if __name__ == "__main__":
    main(sys.argv[1:])
