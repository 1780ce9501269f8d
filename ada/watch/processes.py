"""The processes of ranks, as another process of the same machine can look at and reach them."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Process:
    """`numbering`: of the kernel that gave the number; containers with one host name may have one each. `born`: clock ticks from the
    machine's start to its own, so that no later process is taken for it."""

    pid: int
    born: int
    host: str
    numbering: str

    @classmethod
    def this(cls) -> Process:
        state = _state(os.getpid())
        return cls(os.getpid(), state[1] if state else 0, socket.gethostname(), _numbering())

    @property
    def reachable(self) -> bool:
        """Whether its number means something here."""
        return self.host == socket.gethostname() and self.numbering == _numbering() and self.born > 0

    @property
    def gone(self) -> bool:
        """Whether it has surely ended. What is not reachable may be there or not."""
        return self.reachable and ((state := _state(self.pid)) is None or state[0] in "ZX" or state[1] != self.born)

    def send(self, *numbers: signal.Signals) -> None:
        """Nothing where it cannot be reached, or has ended."""
        if self.reachable and not self.gone:
            for number in numbers:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(self.pid, number)


def _state(pid: int) -> tuple[str, int] | None:
    """Of a process: R, S, T, Z (dead, not yet waited for), ..., and when it was started (man 5 proc_pid_stat); None where there is none."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return fields[0], int(fields[19])


def _numbering() -> str:
    return os.readlink("/proc/self/ns/pid")
