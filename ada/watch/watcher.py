"""Ends the whole job when one of its ranks fails, hangs or is gone: the others would wait for it in a collective for ever.

A thread of each rank leaves a sign of life on a board that all ranks share, and looks at those of the others. The first failure that is
found ends every rank: each leaves the stacks of all its threads in the run's folder, says why on the terminal, and exits.
"""

from __future__ import annotations

import faulthandler
import logging
import os
import signal
import socket
import sys
import threading
import time
from pathlib import Path

import psutil

from ada.watch.board import Board, Sign
from ada.watch.config import Watch
from ada.watch.pulse import Pulse

log = logging.getLogger(__name__)

STARTING = 10  # times `hang_seconds` that a run may take to start: models are loaded, kernels compiled
OWN_SECONDS = 1.0  # in which a rank may find by itself what another has found, and end by it
TELLING_SECONDS = 5.0  # in which all ranks leave their stacks
FAILED = 1


class Watcher:
    """`board`: None where there is one rank only, whose own hanging is watched all the same."""

    def __init__(self, config: Watch, pulse: Pulse, board: Board | None, folder: Path, rank: int):
        self.config, self.pulse, self.board, self.folder, self.rank = config, pulse, board, folder, rank
        self.period = min(1.0, config.hang_seconds / 4, config.lost_seconds / 4)
        self._written = 0
        self._seen: dict[int, tuple[Sign, float]] = {}  # the last sign of each other rank, and when it came
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="watcher", daemon=True)

    def start(self) -> None:
        """All ranks at about the same time."""
        if self.board is not None:
            self._sign(self.board)
            nothing = Sign(0, 0.0, "starting", "", 0)
            self._seen = {rank: (nothing, time.monotonic()) for rank in range(self.board.world) if rank != self.rank}
        self._thread.start()

    def close(self) -> None:
        """The job has ended well, as far as this rank is concerned."""
        self._over.set()
        self._thread.join(2 * self.period)

    def failed(self, error: BaseException) -> None:
        """Tells the other ranks what happened to this one, which goes on to its end by itself. Called by the main thread."""
        self._over.set()
        if self.board is not None:
            self.board.fail(f"rank {self.rank}: {type(error).__name__}: {error}")
            self._leave_stacks()
            self.board.told()

    def _watch(self) -> None:
        while not self._over.wait(self.period):
            try:
                cause = self._look()
            except Exception as error:  # the store went away with the process, or the machine, that kept it
                cause = f"rank {self.rank}: the ranks' common store does not answer any more ({type(error).__name__}: {error})"
            if cause is not None and not self._over.wait(OWN_SECONDS):
                self._end(cause)

    def _look(self) -> str | None:
        """Why the job must end, if it must."""
        still, limit = self.pulse.still_seconds, self.config.hang_seconds
        if self.board is not None:
            self._sign(self.board)
            if (failure := self.board.failure()) is not None:
                return failure
            if (lost := self._lost()) is not None:
                return lost
        if still > limit * (STARTING if self.pulse.doing == "starting" else 1):
            return self._stuck(still)
        return None

    def _sign(self, board: Board) -> None:
        self._written += 1
        board.sign(Sign(self._written, self.pulse.still_seconds, self.pulse.doing, socket.gethostname(), os.getpid()))

    def _lost(self) -> str | None:
        assert self.board is not None
        now = time.monotonic()
        for rank, sign in self.board.signs().items():
            if self._seen[rank][0].written != sign.written:
                self._seen[rank] = (sign, now)
        for rank, (sign, came) in self._seen.items():
            if now - came > self.config.lost_seconds:
                _kill(sign)
                return (
                    f"rank {rank} (process {sign.pid} on {sign.host}) has given no sign of life for {now - came:.0f} s "
                    f"(watch.lost_seconds = {self.config.lost_seconds:g}); it was last seen {sign.doing}"
                )
        return None

    def _stuck(self, still: float) -> str:
        """Names the rank that stopped first: the others wait for it."""
        all_still = {rank: (sign.still + time.monotonic() - came, sign.doing) for rank, (sign, came) in self._seen.items()}
        all_still[self.rank] = (still, self.pulse.doing)
        first = max(all_still, key=lambda rank: all_still[rank][0])
        return (
            f"rank {first} has got no further for {all_still[first][0]:.0f} s (watch.hang_seconds = {self.config.hang_seconds:g}) "
            f"while {all_still[first][1]}"
        )

    def _end(self, cause: str) -> None:
        if self.board is not None:
            try:
                cause = self.board.fail(cause)
            except Exception:
                log.exception("the ranks' common store does not answer")
        self._leave_stacks()
        log.log(logging.ERROR if self.rank else logging.INFO, "the job ends: %s", cause)  # rank 0's errors would be on the terminal twice
        kind = "error" if self.rank == 0 else f"error on rank {self.rank}"
        print(f"{kind}: the job ends: {cause}\n{kind}: where each thread was: {self._stacks}", file=sys.stderr, flush=True)
        if self.board is not None:
            try:
                self.board.told()
                self.board.wait_until_told(TELLING_SECONDS)  # the launcher ends all ranks when the first one is gone
            except Exception:
                log.exception("the ranks' common store does not answer")
        os._exit(FAILED)

    @property
    def _stacks(self) -> Path:
        return self.folder / f"stacks-rank-{self.rank}.txt"

    def _leave_stacks(self) -> None:
        try:
            with self._stacks.open("w") as file:
                faulthandler.dump_traceback(file, all_threads=True)
        except OSError as error:
            log.warning("%s could not be written: %s", self._stacks, error)


def _kill(sign: Sign) -> None:
    """A process of this machine that is there and gives no sign, stopped for example, would keep its launcher waiting."""
    if sign.host == socket.gethostname() and psutil.pid_exists(sign.pid):
        os.kill(sign.pid, signal.SIGKILL)
