"""The process that runs a program: gives up everything but computing and its own folder, then executes it. Standard library only.

Started as `python -I -S -B child.py SETTINGS` by ada/rewards/sandbox/run.py. The confinement is the kernel's and cannot be taken back:
Landlock leaves reading Python's own library and working in the own folder (no folders, links, sockets or devices in it); a seccomp
filter leaves the system calls of plain computing, without network, processes, signals to others, or a new program; limits bound
processor time, memory and files. Sources: man pages landlock(7), seccomp(2), setrlimit(2), capabilities(7).
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import signal
import sys
import types

REFUSED = 97  # exit code where the kernel does not confine
ABI_TRUNCATE, ABI_NETWORK, ABI_DEVICES, ABI_SCOPES = 3, 4, 5, 6  # Landlock versions
EXECUTE, WRITE_FILE, READ_FILE, READ_DIR, REMOVE_FILE, MAKE_REGULAR, TRUNCATE = (1 << bit for bit in (0, 1, 2, 3, 5, 8, 14))
SIGNALS_AND_SOCKETS_OF_OTHERS = 3

# x86-64 numbers of what plain computing needs; whatever is not here fails with "operation not permitted"
_ALLOWED = (
    "0 1 3 5 8 9 10 11 12 13 14 15 16 17 18 19 20 "  # read write close fstat lseek m(un)map/protect brk rt_sig* ioctl p/v rw
    "2 4 6 7 21 22 23 24 25 26 27 28 "  # open stat lstat poll access pipe select sched_yield mremap msync mincore madvise
    "32 33 34 35 36 37 38 39 "  # dup dup2 pause nanosleep getitimer alarm setitimer getpid
    "44 45 48 51 52 53 54 55 "  # on a socketpair, as asyncio makes: send receive shutdown names socketpair options
    "60 61 63 72 73 74 75 77 78 79 80 81 "  # exit wait4 uname fcntl flock fsync fdatasync ftruncate getdents getcwd chdir fchdir
    "82 87 89 95 96 97 98 99 100 102 104 107 108 110 111 "  # rename unlink readlink umask time limits usage info times ids
    "121 124 127 128 130 131 158 186 201 202 204 217 218 "  # getpgid getsid rt_sig* sigaltstack arch_prctl gettid time futex cpus
    "222 223 224 225 226 228 229 230 231 232 233 "  # timers clock_* exit_group epoll_wait epoll_ctl
    "257 262 263 264 267 269 270 271 273 274 281 "  # openat fstatat unlinkat renameat readlinkat faccessat pselect ppoll robust list
    "290 291 292 293 295 296 309 316 318 324 327 328 332 334 436 439 "  # eventfd epoll dup3 pipe2 p/v rw getrandom statx rseq
)
ALLOWED = tuple(map(int, _ALLOWED.split()))
CLONE, KILL, TGKILL, PRLIMIT, CLONE3 = 56, 62, 234, 302, 435
X86_64, CLONE_THREAD, EPERM, ENOSYS = 0xC000003E, 0x10000, 1, 38
LOAD, EQUAL, ANY_BIT, RETURN = 0x20, 0x15, 0x45, 0x06
ALLOW, ERROR, KILL_PROCESS = 0x7FFF0000, 0x00050000, 0x80000000

libc = ctypes.CDLL(None, use_errno=True)


class Unconfined(OSError):
    pass


def checked(result: int, what: str) -> int:
    if result < 0:
        raise Unconfined(f"{what}: {os.strerror(ctypes.get_errno())}")
    return result


def die_with(parent: int) -> None:
    checked(libc.prctl(1, signal.SIGKILL, 0, 0, 0), "PR_SET_PDEATHSIG")
    if os.getppid() != parent:
        os._exit(REFUSED)


def limit(seconds: int, memory_bytes: int, file_bytes: int) -> None:
    for name, value in {
        resource.RLIMIT_CPU: seconds,
        resource.RLIMIT_AS: memory_bytes,
        resource.RLIMIT_FSIZE: file_bytes,
        resource.RLIMIT_NOFILE: 32,
        resource.RLIMIT_CORE: 0,
    }.items():
        hard = resource.getrlimit(name)[1]
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(name, (value, value))


def drop_privileges() -> None:
    checked(libc.prctl(38, 1, 0, 0, 0), "PR_SET_NO_NEW_PRIVS")
    header, nothing = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
    checked(libc.syscall(126, header, nothing), "capset")


def restrict_files(folder: str, readable: list[str]) -> None:
    abi = checked(libc.syscall(444, None, 0, 1), "Landlock (Linux 5.13 or newer, with Landlock enabled)")
    handled = (1 << (16 if abi >= ABI_DEVICES else 15 if abi >= ABI_TRUNCATE else 14 if abi == 2 else 13)) - 1
    attributes = (ctypes.c_uint64 * 3)(handled, 3, SIGNALS_AND_SOCKETS_OF_OTHERS)
    size = 24 if abi >= ABI_SCOPES else 16 if abi >= ABI_NETWORK else 8
    rules = checked(libc.syscall(444, attributes, size, 0), "landlock_create_ruleset")
    own = READ_FILE | READ_DIR | WRITE_FILE | REMOVE_FILE | MAKE_REGULAR | TRUNCATE
    for path, rights in [(folder, own), ("/dev/null", READ_FILE | WRITE_FILE), *((path, READ_FILE | READ_DIR) for path in readable)]:
        if not os.path.exists(path):
            continue
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
        if not os.path.isdir(path):
            rights &= READ_FILE | WRITE_FILE
        rule = (rights & handled).to_bytes(8, "little") + place.to_bytes(4, "little")
        checked(libc.syscall(445, rules, 1, rule, 0), f"landlock_add_rule {path}")
        os.close(place)
    checked(libc.syscall(446, rules, 0), "landlock_restrict_self")
    os.close(rules)


def restrict_system_calls() -> None:
    program = [(LOAD, 0, 0, 4), (EQUAL, 1, 0, X86_64), (RETURN, 0, 0, KILL_PROCESS), (LOAD, 0, 0, 0)]
    for number in ALLOWED:
        program += [(EQUAL, 0, 1, number), (RETURN, 0, 0, ALLOW)]
    program += [(EQUAL, 0, 1, CLONE3), (RETURN, 0, 0, ERROR | ENOSYS)]  # the C library then uses clone, whose flags can be read
    program += when(CLONE, (ANY_BIT, 0, 1, CLONE_THREAD))
    for number in (KILL, TGKILL):
        program += when(number, (EQUAL, 0, 1, os.getpid()))
    program += when(PRLIMIT, (EQUAL, 0, 1, 0))
    program += [(RETURN, 0, 0, ERROR | EPERM)]
    code = b"".join(c.to_bytes(2, "little") + bytes((yes, no)) + k.to_bytes(4, "little") for c, yes, no, k in program)
    buffer = ctypes.create_string_buffer(code, len(code))

    class Program(ctypes.Structure):
        _fields_ = [("length", ctypes.c_ushort), ("code", ctypes.c_void_p)]

    checked(libc.prctl(22, 2, ctypes.byref(Program(len(program), ctypes.addressof(buffer))), 0, 0), "seccomp")


def when(number: int, first_argument: tuple[int, int, int, int]) -> list[tuple[int, int, int, int]]:
    """Allows the system call where its first argument passes the test."""
    return [(EQUAL, 0, 4, number), (LOAD, 0, 0, 16), first_argument, (RETURN, 0, 0, ALLOW), (RETURN, 0, 0, ERROR | EPERM)]


def execute(source: str, name: str) -> types.ModuleType:
    module = types.ModuleType(name)
    sys.modules[name] = module
    exec(compile(source, "<program>", "exec"), module.__dict__)
    return module


def call(source: str, function: str, arguments: list[object]) -> None:
    """Writes the value of the call as JSON to where the standard output was; what the program prints goes nowhere."""
    answer = os.dup(1)
    os.dup2(os.open("/dev/null", os.O_WRONLY), 1)
    found: object = execute(source, "solution")
    for part in function.split("."):
        found = getattr(found() if isinstance(found, type) else found, part)
    result = json.dumps(found(*arguments))  # type: ignore[operator]
    os.write(answer, result.encode())


def main() -> None:
    settings = json.loads(sys.argv[1])
    with open("program.py", encoding="utf-8", errors="surrogatepass") as file:
        source = file.read()
    try:
        die_with(settings["parent"])
        limit(settings["seconds"], settings["memory_bytes"], settings["file_bytes"])
        drop_privileges()
        restrict_files(os.getcwd(), settings["readable"])
        restrict_system_calls()
    except (OSError, ValueError) as error:
        print(f"this machine cannot confine a program: {error}", file=sys.stderr)
        os._exit(REFUSED)
    del sys.argv[1:]
    if settings["call"] is None:
        execute(source, "__main__")
    else:
        call(source, *settings["call"])


if __name__ == "__main__":
    main()
