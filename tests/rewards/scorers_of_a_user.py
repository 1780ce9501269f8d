"""Reward functions as users might write them: the well-behaved, and every way to go wrong."""

import asyncio
import ctypes
import os
import re
import signal
import sys
import time


def by_length(response, answer):
    return float(len(response))


def command(response, answer):
    """Does what the response says."""
    return COMMANDS[response](answer)


def hang_in_c(answer):
    re.match(r"(a+)+$", "a" * 40 + "b")


def raise_base(answer):
    class TimeoutException(BaseException):
        pass

    raise TimeoutException


def leave_an_alarm(answer):
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    return 1.0


def ignore_termination(answer):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    time.sleep(600)


def speak(answer):
    print("a word from the scorer", flush=True)
    return 1.0


COMMANDS = {
    "right": lambda answer: 1.0,
    "zero": lambda answer: 0.0,
    "false": lambda answer: False,
    "true": lambda answer: True,
    "half": lambda answer: 0.5,
    "parts": lambda answer: {"reward": 1.0, "format": 0.25},
    "parts without reward": lambda answer: {"format": 0.25},
    "part nan": lambda answer: {"reward": 1.0, "format": float("nan")},
    "none": lambda answer: None,
    "nan": lambda answer: float("nan"),
    "inf": lambda answer: float("inf"),
    "yes": lambda answer: "yes",
    "list": lambda answer: [1.0],
    "key error": lambda answer: {}["missing"],
    "base exception": raise_base,
    "sys.exit": lambda answer: sys.exit(3),
    "interrupt": lambda answer: os.kill(os.getpid(), signal.SIGINT) or 1.0,
    "os._exit": lambda answer: os._exit(7),
    "segfault": lambda answer: ctypes.string_at(0),
    "killed": lambda answer: os.kill(os.getpid(), signal.SIGKILL),
    "memory": lambda answer: len(bytearray(4 * 2**30)),
    "sleep": lambda answer: time.sleep(600),
    "hang in c": hang_in_c,
    "ignore termination": ignore_termination,
    "nap": lambda answer: time.sleep(float(answer)) or 1.0,
    "alarm": leave_an_alarm,
    "heavy": lambda answer: float(bool({"torch", "vllm", "transformers"} & set(sys.modules))),
    "secret": lambda answer: float(answer in os.environ),
    "pid": lambda answer: float(os.getpid()),
    "speak": speak,
}


def takes_one(response):
    return 1.0


not_a_function = 3


async def waits(response, answer):
    """As many at once as there are: each takes half a second."""
    if response == "raise":
        raise KeyError(response)
    await asyncio.sleep(600 if response == "forever" else 0.5)
    return float(response == answer)


def with_arguments(response, answer, *, suffix, factor=1.0):
    return factor * response.endswith(suffix)


def facts(response, answer, *, prompt, tokens, cut_off):
    return {"reward": float(tokens), "cut off": cut_off, "asked": len(prompt)}


def gold_problem(answer):
    return "it is a riddle" if answer == "riddle" else None


def gold_response(answer):
    return None if answer == "secret" else f"is {answer}"


def equal(response, answer):
    return float(response == answer)
