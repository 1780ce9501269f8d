"""Ends Python code that takes too long, in any thread: no signal, no process. What is stuck in one call of C code is not ended."""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

_LOOK_SECONDS = 0.05  # between two looks at the clock, and two attempts


class TooLong(BaseException):
    """Raised inside the code that is ended; not an Exception, which libraries catch."""


def within(seconds: float, task: Callable[[], T]) -> T | None:
    """What the task gives, or None where it takes longer than this of its thread's processor time.

    Another thread watches the clock, and asks the interpreter to raise TooLong in this one (PyThreadState_SetAsyncExc), again and again
    for code that catches it.
    """
    caller, clock, over = threading.get_ident(), time.pthread_getcpuclockid(threading.get_ident()), threading.Event()
    end = time.clock_gettime(clock) + seconds

    def watch() -> None:
        while not over.wait(_LOOK_SECONDS):
            if time.clock_gettime(clock) > end:
                _raise_in(caller, TooLong)

    watcher = threading.Thread(target=watch, name="deadline", daemon=True)
    watcher.start()
    begun, found = False, None
    while True:
        try:
            if not begun:
                begun = True
                found = task()
            over.set()
            watcher.join()
            _raise_in(caller, None)  # takes back what was asked for and has not been raised yet
            return found
        except TooLong:
            continue
        except BaseException:
            over.set()
            raise


def _raise_in(thread: int, exception: type[BaseException] | None) -> None:
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), None if exception is None else ctypes.py_object(exception))
