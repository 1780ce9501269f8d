"""Hostile programs against the sandbox: each attack is made from inside, and must change, read and reach nothing outside."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest

from ada.rewards.sandbox import run as sandbox
from ada.rewards.sandbox.run import Limits, run
from tests.rewards.confined import needs_sandbox

pytestmark = [pytest.mark.slow, needs_sandbox]
LIMITS = Limits(seconds=20.0)  # a loaded machine starts a process slowly

ATTACKS = """
open({secret!r}).read()
open({target!r}, "w")
open({target!r}, "a")
os.open({target!r}, os.O_RDONLY)
os.truncate({target!r}, 0)
os.chmod({target!r}, 0)
os.chown({target!r}, 0, 0)
os.utime({target!r}, (0, 0))
os.setxattr({target!r}, "user.x", b"1")
os.unlink({target!r})
os.rename({target!r}, "mine")
os.rename("program.py", {target!r})
os.link({target!r}, "link")
os.symlink({target!r}, "link")
os.mkdir("folder")
os.mkfifo("pipe")
os.mknod("device", 0o600 | 0o020000, os.makedev(1, 3))
os.listdir("..")
os.listdir({folder!r})
open("../" + os.path.basename({secret!r}))
open("/etc/passwd")
open("/proc/self/root" + {secret!r})
open("/proc/1/root" + {secret!r})
open("/proc/self/cwd/../" + os.path.basename({secret!r}))
open("/dev/fd/0", "r+b")
os.listdir("/root")
os.listdir("/")
open("/proc/self/mem", "r+b")
open("/proc/self/environ")
open(f"/proc/{{os.getppid()}}/mem", "r+b")
open(f"/proc/{{os.getppid()}}/environ").read()
os.listdir(f"/proc/{{os.getppid()}}/fd")
os.open("/proc/self/fd/0", os.O_RDWR)
os.open("/dev/mem", os.O_RDONLY)
open("/proc/self/fd/" + str(os.open({target!r}, os.O_PATH)), "w")
os.replace("program.py", {target!r})
os.sendfile(1, os.open({secret!r}, os.O_RDONLY), 0, 10)
os.copy_file_range(os.open({secret!r}, os.O_RDONLY), 1, 10)
os.open("/dev/shm/x", os.O_CREAT | os.O_WRONLY)
os.open("/dev/shm", 0o20000000 | 0o200000 | os.O_RDWR)
os.kill(os.getppid(), 0)
os.kill(-1, 0)
os.killpg(os.getpgid(os.getppid()), 0)
os.kill(1, 0)
os.fork()
os.forkpty()
os.posix_spawn("/bin/true", ["true"], {{}})
os.execv("/bin/true", ["true"])
subprocess.run(["/bin/true"])
os.system("true") == 0 or 1 / 0
multiprocessing.Process(target=print).start()
os.setsid()
os.setpgid(0, 0)
os.setuid(65534)
os.chroot(".")
os.memfd_create("x")
os.pidfd_open(os.getppid())
os.sched_setaffinity(0, {{0}})
os.setpriority(os.PRIO_USER, 0, 19)
signal.pidfd_send_signal(0, 0)
socket.socket()
socket.socket(socket.AF_UNIX)
socket.create_connection(("127.0.0.1", {port}), 1)
socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("127.0.0.1", {port}))
urllib.request.urlopen("http://127.0.0.1:{port}/", timeout=1)
resource.setrlimit(resource.RLIMIT_AS, (-1, -1))
resource.setrlimit(resource.RLIMIT_CPU, (10000, 10000))
resource.prlimit(os.getppid(), resource.RLIMIT_CPU, (0, 0))
system_call(29, 0, 4096, 0o1600)
system_call(56, 0x10000 | 0x10000000, 0, 0, 0, 0)
system_call(129, os.getppid(), 10, bytes(128))
system_call(155, b".", b".")
system_call(200, os.getppid(), 10)
system_call(248, b"user", b"x", b"y", 1, -3)
system_call(298, bytes(128), 0, -1, -1, 0)
system_call(303, -100, b"/", bytes(128), bytes(4), 0)
system_call(308, 0, 0)
system_call(323, 0)
system_call(438, 0, 0, 0)
system_call(442, 0, b"", 0, bytes(32), 32)
system_call(101, 16, os.getppid(), 0, 0)
system_call(310, os.getppid(), 0, 0, 0, 0, 0)
system_call(311, os.getppid(), 0, 0, 0, 0, 0)
system_call(165, b"x", b".", b"tmpfs", 0, 0)
system_call(272, 0x10000000)
system_call(321, 0, 0, 0)
system_call(425, 8, 0)
system_call(157, 1, 0, 0, 0, 0)
system_call(317, 1, 0, 0)
system_call(0x40000000 + 57)
system_call(57)
system_call(58)
system_call(56, 17, 0, 0, 0, 0)
system_call(435, bytes(88), 88)
"""


DEAF = """
import signal, time
for number in range(1, 65):
    try:
        signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError):
        pass
time.sleep(600)
"""


def program_of(attacks: str) -> str:
    """Prints the attacks that did not fail."""
    return (
        textwrap.dedent("""
            import ctypes, multiprocessing, os, resource, signal, socket, subprocess, urllib.request
            libc = ctypes.CDLL(None, use_errno=True)
            def system_call(*arguments):
                if libc.syscall(*arguments) == -1:
                    raise OSError(ctypes.get_errno(), "refused")
            succeeded, me = [], os.getpid()
            for attack in ATTACKS:
                try:
                    exec(attack)
                except Exception:
                    continue
                succeeded.append(attack)
                if os.getpid() != me:
                    os._exit(0)
            print(succeeded)
        """)
        .replace("ATTACKS", repr(attacks.strip().splitlines()))
        .strip()
    )


def test_nothing_outside_is_read_written_reached_or_signalled(tmp_path: Path) -> None:
    import http.server

    reached = []

    class Server(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            reached.append(self.path)

    secret, target = tmp_path / "secret.txt", tmp_path / "target.txt"
    secret.write_text("the expected results")
    target.write_text("untouched")
    before = target.stat()
    with http.server.HTTPServer(("127.0.0.1", 0), Server) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        attacks = ATTACKS.format(secret=str(secret), target=str(target), folder=str(tmp_path), port=server.server_port)
        outcome = run(program_of(attacks), limits=LIMITS)
        server.shutdown()
    assert outcome.well and outcome.output.strip() == "[]", outcome
    assert reached == [] and target.read_text() == "untouched"
    assert (target.stat().st_mode, target.stat().st_mtime_ns) == (before.st_mode, before.st_mtime_ns)


def test_the_attacks_do_succeed_without_the_sandbox(tmp_path: Path) -> None:
    """Else the test above would prove nothing of these."""
    secret = tmp_path / "secret.txt"
    secret.write_text("x")
    attacks = f"open({str(secret)!r}).read()\nos.listdir('..')\nopen('/etc/passwd')\nos.kill(os.getppid(), 0)\nsocket.socket()\nos.fork()"
    done = subprocess.run([sys.executable, "-c", program_of(attacks)], capture_output=True, text=True, cwd=tmp_path, timeout=60)
    assert done.stdout.strip() == str(attacks.splitlines())


def test_neither_secrets_nor_the_trainers_files_are_in_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_API_KEY", "secret")
    source = """
        import os, sys
        print(dict(os.environ), sys.argv[1:], os.listdir('.'), [fd for fd in range(3, 32) if is_open(fd)])
    """
    head = "def is_open(fd):\n    import os\n    try:\n        return bool(os.fstat(fd))\n    except OSError:\n        return False\n"
    outcome = run(head + textwrap.dedent(source), limits=LIMITS)
    assert outcome.output.replace("'LC_CTYPE': 'C.UTF-8'", "").strip() == "{} [] ['program.py'] []", outcome


@pytest.mark.parametrize(
    ("source", "end"),
    [
        ("import time\ntime.sleep(600)", "timeout"),
        ("while True: pass", "timeout"),
        ("import re\nre.match(r'(a+)+$', 'a' * 50 + 'b')", "timeout"),
        (DEAF, "timeout"),
        ("import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)", "timeout"),
        ("import os\nwhile True: os.write(2, b'x' * 10000)", "timeout"),
        ("import os, time\nos.close(1); os.close(2); time.sleep(600)", "timeout"),
        ("import threading, time\nfor _ in range(3): threading.Thread(target=time.sleep, args=(600,)).start()", "timeout"),
        ("import atexit, time\natexit.register(time.sleep, 600)", "timeout"),
        ("while True: print('x' * 10000)", "output"),
        ("for n in range(10**6): open(str(n), 'wb').write(b'x' * 10**5)", "output"),
    ],
)  # fmt: skip
def test_nothing_outlives_its_limit(source: str, end: str) -> None:
    began = time.monotonic()
    outcome = run(source, limits=Limits(seconds=0.5 if end == "timeout" else 20.0))
    assert outcome.end == end
    assert not outcome.well and time.monotonic() - began < 22.0


def test_memory_and_single_files_are_limited() -> None:
    source = """
        import signal
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        for attempt in (lambda: bytearray(2**30), lambda: open("big", "wb").write(bytes(2**20)), lambda: "x" * 2**30):
            try:
                attempt()
                print("done")
            except (MemoryError, OSError) as error:
                print(type(error).__name__)
    """
    assert run(textwrap.dedent(source), limits=LIMITS).output.split() == ["MemoryError", "OSError", "MemoryError"]


def test_threads_are_bounded_by_memory() -> None:
    source = """
        import threading, time
        count = 0
        try:
            while True:
                threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
                count += 1
        except RuntimeError:
            print(count < 200)
    """
    assert run(textwrap.dedent(source), limits=LIMITS).output.strip() == "True"


def test_its_folder_is_gone_and_nothing_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    outcome = run("import os\nopen('a', 'w').write('b')\nos.chdir('/')\nprint(open('/' + 'etc/ld.so.cache', 'rb').read(5))", limits=LIMITS)
    assert outcome.well and list(tmp_path.iterdir()) == []


def test_it_ends_when_the_process_that_started_it_is_killed(tmp_path: Path) -> None:
    starter = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "from ada.rewards.sandbox.run import *\nrun('import time\\ntime.sleep(600)', limits=Limits(seconds=600))",
        ],
        cwd=Path(__file__).parents[2],
    )
    deadline = time.monotonic() + 30
    while not (children := Path(f"/proc/{starter.pid}/task/{starter.pid}/children").read_text().split()):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    time.sleep(0.5)
    starter.kill()
    starter.wait()
    while os.path.exists(f"/proc/{children[0]}") and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not os.path.exists(f"/proc/{children[0]}")


def test_ordinary_programs_run() -> None:
    source = """
        import asyncio, bisect, collections, dataclasses, datetime, decimal, fractions, functools, heapq, itertools, json, math
        import random, re, statistics, string, sys, threading, zoneinfo
        @dataclasses.dataclass
        class Point:
            x: int
        async def wait():
            await asyncio.sleep(0.01)
            return Point(int(sys.stdin.readline()))
        sys.setrecursionlimit(100_000)
        def depth(n):
            return 0 if n == 0 else 1 + depth(n - 1)
        result = []
        thread = threading.Thread(target=lambda: result.append(depth(5000)))
        thread.start(); thread.join()
        with open("notes.txt", "w") as file:
            file.write("kept")
        if __name__ == "__main__":
            print(asyncio.run(wait()), result, open("notes.txt").read(), sum(map(int, sys.stdin)), decimal.Decimal("0.1") * 3)
    """
    outcome = run(textwrap.dedent(source), stdin="7\n1\n2\n", limits=LIMITS)
    assert outcome.output.strip() == "Point(x=7) [5000] kept 3 0.3" and outcome.well, outcome


def test_a_machine_that_cannot_confine_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox.platform, "machine", lambda: "riscv64")
    with pytest.raises(OSError, match="x86-64 only; this is linux on riscv64"):
        sandbox.check()
