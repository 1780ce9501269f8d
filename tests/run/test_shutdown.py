"""What a signal does to a process that cannot answer it, in processes of their own."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

import pytest

WAITING_IN_C = """
import ctypes
from ada import shutdown
shutdown.GRACE_SECONDS = {grace}
stop = shutdown.StopRequest().install()
print("ready", flush=True)
lock = ctypes.CDLL(None)
mutex = ctypes.create_string_buffer(64)
lock.pthread_mutex_lock(mutex)
lock.pthread_mutex_lock(mutex)  # waits in C for ever, as a collective does for a rank that is gone: no Python handler runs
"""


def started(grace: float) -> subprocess.Popen[str]:
    process = subprocess.Popen([sys.executable, "-c", WAITING_IN_C.format(grace=grace)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None and process.stdout.readline() == "ready\n"
    return process


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_process_that_waits_in_C_ends_after_the_grace_time_D03(number):
    process = started(grace=0.5)
    process.send_signal(number)
    sent = time.monotonic()
    assert process.wait(20) == 128 + number
    assert time.monotonic() - sent >= 0.4


def test_a_second_signal_ends_it_at_once():
    process = started(grace=600)
    process.send_signal(signal.SIGTERM)
    time.sleep(0.2)
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    assert process.wait(20) == 128 + signal.SIGINT
