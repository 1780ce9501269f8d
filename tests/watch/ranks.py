"""Ranks of a job, forked, with nothing but the watcher and the store: one fails, dies, hangs, is stuck or stopped. Prints how each ended.

python ranks.py FOLDER WHAT
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
import time
from pathlib import Path

import torch.distributed as dist

from ada.watch.board import Board
from ada.watch.config import Watch
from ada.watch.pulse import Pulse
from ada.watch.watcher import Watcher

WORLD = 3
WATCH = Watch(hang_seconds=3.0, lost_seconds=3.0)


def rank_main(rank: int, port: int, folder: Path, what: str) -> int:
    store, of_board = (dist.TCPStore("127.0.0.1", port, is_master=False) for _ in range(2))
    pulse = Pulse()
    watcher = Watcher(WATCH, pulse, Board(of_board, rank, WORLD), folder, rank)
    pulse.mark("working")
    watcher.start()
    try:
        for work in range(600):
            pulse.mark()
            if rank == 1 and work == 10:
                faulty(what)
            if work >= 10:
                store.wait([f"done-{work}"]) if what != "nothing" else None  # a collective that rank 1 never comes to
            if work == 40 and what == "nothing":
                break
            time.sleep(0.05)
    except RuntimeError as error:
        watcher.failed(error)
        return 3
    watcher.close()
    return 0


def faulty(what: str) -> None:
    if what == "error":
        raise RuntimeError("no luck with this batch")
    if what == "death":
        os.kill(os.getpid(), signal.SIGKILL)
    if what == "stop":
        os.kill(os.getpid(), signal.SIGSTOP)
    if what == "hang":
        a_call_that_never_comes_back()

    if what == "stuck":
        a_call_that_lets_no_other_thread_run()


def a_call_that_lets_no_other_thread_run() -> None:
    mutex = ctypes.create_string_buffer(64)
    for _ in range(2):
        ctypes.PyDLL(None).pthread_mutex_lock(mutex)


def a_call_that_never_comes_back() -> None:
    time.sleep(600)


def main(folder: Path, what: str) -> None:
    store = dist.TCPStore("127.0.0.1", 0, is_master=True)
    children = {}
    for rank in range(WORLD):
        pid = os.fork()
        if pid == 0:
            code = rank_main(rank, store.port, folder, what)
            sys.stderr.flush()
            os._exit(code)
        children[pid] = rank
    began, ends = time.monotonic(), {}
    for _ in range(WORLD):
        pid, status = os.wait()
        ends[children[pid]] = (os.waitstatus_to_exitcode(status), time.monotonic() - began)
    print(json.dumps(ends))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
