"""Starts a confined program, gives it its input, takes its output, and ends it: by itself, at a limit, or by force."""

from __future__ import annotations

import contextlib
import json
import os
import platform
import selectors
import signal
import subprocess
import sys
import sysconfig
import tempfile
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

from ada.rewards.sandbox import child

_LOOK_SECONDS = 0.05  # between two looks at the size of the folder
_LIBRARIES = ("/lib", "/lib64", "/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/etc/ld.so.cache", "/dev/urandom", "/usr/share/zoneinfo")


@dataclass(frozen=True, slots=True)
class Limits:
    seconds: float = 4.0  # of time, and of processor time
    memory_mib: int = 512
    output_kib: int = 256  # of standard output; of each file; four times as much in all files


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a program did. `output`: what it printed or, of a call, the value as JSON; anything the program likes to claim."""

    end: Literal["exit", "timeout", "output", "signal"]  # output: more than the limit
    code: int
    output: str
    errors: str

    @property
    def well(self) -> bool:
        return self.end == "exit" and self.code == 0


def run(program: str, *, stdin: str = "", call: tuple[str, list[Any]] | None = None, limits: Limits = Limits()) -> Outcome:  # noqa: B008
    """Runs a Python program with `stdin`, or calls a function of it: ("name" or "Class.name", arguments). Standard library only.

    It has a folder of its own, which is deleted afterwards, and ends with this process. Raises OSError where the kernel cannot confine.
    """
    with tempfile.TemporaryDirectory(prefix="sandbox-", ignore_cleanup_errors=True) as folder:
        Path(folder, "program.py").write_text(program, encoding="utf-8", errors="surrogatepass")
        settings = {
            "parent": os.getpid(),
            "seconds": max(1, round(limits.seconds + 0.5)),
            "memory_bytes": limits.memory_mib * 2**20,
            "file_bytes": limits.output_kib * 2**10,
            "readable": _readable(),
            "call": call,
        }
        with tempfile.TemporaryFile() as given:
            given.write(stdin.encode("utf-8", "surrogatepass"))
            given.seek(0)
            process = subprocess.Popen(
                [sys.executable, "-I", "-S", "-B", "-X", "utf8", child.__file__, json.dumps(settings)],
                cwd=folder,
                env={},
                stdin=given,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        try:
            outcome = _watch(process, folder, limits)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            for pipe in (process.stdout, process.stderr):
                if pipe:
                    pipe.close()
    if outcome.code == child.REFUSED and outcome.errors.startswith("this machine cannot confine"):
        raise OSError(outcome.errors.strip())
    return outcome


def check() -> None:
    """Raises OSError, saying why, where programs cannot be confined on this machine."""
    if sys.platform != "linux" or platform.machine() != "x86_64":
        raise OSError(f"programs of responses are confined by Linux on x86-64 only; this is {sys.platform} on {platform.machine()}")
    outcome = run("print(6 * 7)", limits=Limits(seconds=20))
    if outcome.output.strip() != "42":
        raise OSError(f"a program that prints 42, confined, ended with {outcome}")


def _watch(process: subprocess.Popen[bytes], folder: str, limits: Limits) -> Outcome:
    deadline = time.monotonic() + limits.seconds
    most = limits.output_kib * 2**10
    assert process.stdout and process.stderr
    taken: dict[object, bytes] = {process.stdout: b"", process.stderr: b""}
    end: Literal["exit", "timeout", "output", "signal"] = "exit"
    with selectors.DefaultSelector() as selector:
        for pipe in (process.stdout, process.stderr):
            selector.register(pipe, selectors.EVENT_READ)
        while selector.get_map():
            left = deadline - time.monotonic()
            if left <= 0 or len(taken[process.stdout]) > most or _size(folder) > 4 * most:
                end = "timeout" if left <= 0 else "output"
                break
            for key, _ in selector.select(min(left, _LOOK_SECONDS)):
                piece = os.read(key.fd, 65536)
                if piece:
                    taken[key.fileobj] = (taken[key.fileobj] + piece)[-(most + 65536) :]
                else:
                    selector.unregister(key.fileobj)
    if end == "exit":  # it has closed its outputs; that it ends too is another matter
        try:
            process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            end = "timeout"
    code = process.poll()
    if end == "exit" and code is not None and code < 0:
        end = "timeout" if -code == signal.SIGXCPU else "signal"
    output, errors = (taken[pipe].decode("utf-8", "replace") for pipe in (process.stdout, process.stderr))
    return Outcome(end, -1 if code is None else code, output, errors[-1000:])


def _size(folder: str) -> int:
    """Bytes in the files of a folder that can have no folders in it."""
    total = 0
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            with contextlib.suppress(OSError):
                total += max(entry.stat(follow_symlinks=False).st_size, 512)
    return total


@cache
def _readable() -> list[str]:
    """Python's own library without installed packages, and the system's shared libraries."""
    library = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib")}
    inside = [entry.path for path in library for entry in os.scandir(path) if entry.name not in ("site-packages", "dist-packages")]
    shared = sysconfig.get_config_var("LIBDIR")
    python = [str(path) for path in Path(shared).glob("libpython*")] if shared else []
    return [*inside, *python, *_LIBRARIES]
