"""Ends the whole job when one of its ranks fails, hangs or is gone: the others would wait for it in a collective for ever.

A thread of each rank leaves a sign of life on a board that all ranks share, and looks at those of the others. The first failure that is
found ends every rank: each leaves the stacks of all its threads in the run's folder, says why on the terminal, and exits. One that cannot,
since it is stopped or never comes out of a call, is made to leave its stacks by a signal, and is then killed.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ada.watch.board import Board, Sign
from ada.watch.config import Watch
from ada.watch.processes import Process
from ada.watch.pulse import Pulse
from ada.watch.stacks import SIGNAL, Stacks

log = logging.getLogger(__name__)

STARTING = 10  # times `hang_seconds` that a run may take to start: models are loaded, kernels compiled
OWN_SECONDS = 1.0  # in which a rank may find by itself what another has found, and end by it
TELLING_SECONDS = 3.0  # in which a rank leaves its stacks by itself; and again after it was made to by a signal
FAILED = 1


class Watcher:
    """`board`: None where there is one rank only, whose own hanging is watched all the same."""

    def __init__(self, config: Watch, pulse: Pulse, board: Board | None, folder: Path, rank: int):
        self.config, self.pulse, self.board, self.rank = config, pulse, board, rank
        self.stacks = Stacks(folder / f"stacks-rank-{rank}.txt")
        self.period = min(1.0, config.hang_seconds / 4, config.lost_seconds / 4)
        self._process = Process.this()
        self._written = 0
        self._seen: dict[int, tuple[Sign, float]] = {}  # the last sign of each other rank, and when it came
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="watcher", daemon=True)

    def start(self) -> None:
        """All ranks at about the same time."""
        if self.board is not None:
            self._sign(self.board)
            nothing = Sign(0, 0.0, "starting", Process(0, 0, "", ""))
            self._seen = {rank: (nothing, time.monotonic()) for rank in range(self.board.world) if rank != self.rank}
        self._thread.start()

    def close(self) -> None:
        """The job has ended well, as far as this rank is concerned."""
        self._over.set()
        self._thread.join(2 * self.period)
        self.stacks.close()

    def failed(self, error: BaseException) -> None:
        """Tells the other ranks what happened to this one, which goes on to its end by itself. Called by the main thread.

        An error of a collective may come of another rank's end: then that is what happened, and it is said here, too.
        """
        self._over.set()
        if self.board is not None:
            self.stacks.leave()
            with _whatever_the_store_does():
                self._read(self.board)
                own = f"rank {self.rank}: {type(error).__name__}: {error}"
                if (cause := self.board.fail(self._gone() or own)) != own:
                    self._say(cause)
                self.board.told()
        self.stacks.close()

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
            self._read(self.board)
            if (lost := self._gone() or self._silent()) is not None:
                return lost
        starting = "starting" in (self.pulse.doing, *(sign.doing for sign, _ in self._seen.values()))  # those that are done wait for it
        if still > limit * (STARTING if starting else 1):
            return self._stuck(still)
        return None

    def _sign(self, board: Board) -> None:
        self._written += 1
        board.sign(Sign(self._written, self.pulse.still_seconds, self.pulse.doing, self._process))

    def _read(self, board: Board) -> None:
        now = time.monotonic()
        for rank, sign in board.signs().items():
            if self._seen[rank][0].written != sign.written:
                self._seen[rank] = (sign, now)

    def _gone(self) -> str | None:
        for rank, (sign, _) in self._seen.items():
            if sign.process.gone:
                return (
                    f"rank {rank} (process {sign.process.pid} on {sign.process.host}) is gone without a word, killed or crashed "
                    f"(`dmesg` tells whether the machine had run out of memory); it was last seen {sign.doing}"
                )
        return None

    def _silent(self) -> str | None:
        now = time.monotonic()
        for rank, (sign, came) in self._seen.items():
            if now - came > self.config.lost_seconds:
                return (
                    f"rank {rank} (process {sign.process.pid} on {sign.process.host}) has given no sign of life for {now - came:.0f} s "
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
        with _whatever_the_store_does():
            if self.board is not None:
                cause = self.board.fail(cause)
        self.stacks.leave()
        self._say(cause)
        with _whatever_the_store_does():
            if self.board is not None:
                self.board.told()
                self._end_others(self.board)  # before this one: the launcher ends all ranks when the first one is gone
        os._exit(FAILED)

    def _say(self, cause: str) -> None:
        log.log(logging.ERROR if self.rank else logging.INFO, "the job ends: %s", cause)  # rank 0's errors would be on the terminal twice
        kind = "error" if self.rank == 0 else f"error on rank {self.rank}"
        print(f"{kind}: the job ends: {cause}\n{kind}: where each thread was: {self.stacks.path}", file=sys.stderr, flush=True)

    def _end_others(self, board: Board) -> None:
        """A rank that is stopped, or is in a call that never comes back, can neither leave its stacks by itself nor end, and would keep its
        launcher waiting."""
        processes = {rank: sign.process for rank, (sign, _) in self._seen.items()}
        for numbers in ((SIGNAL, signal.SIGCONT), (signal.SIGKILL,)):
            for rank in board.wait_until_told([rank for rank, process in processes.items() if not process.gone], TELLING_SECONDS):
                processes[rank].send(*numbers)


@contextmanager
def _whatever_the_store_does() -> Iterator[None]:
    """It is gone where the process, or the machine, that kept it is."""
    try:
        yield
    except Exception:
        log.exception("the ranks' common store does not answer")
