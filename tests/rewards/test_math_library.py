"""What the own reader has no word for goes to math-verify and sympy, within bounds, in any thread."""

from __future__ import annotations

import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from ada.rewards.answers import library
from ada.rewards.answers.deadline import within
from ada.rewards.math import score

MATRIX = r"\begin{pmatrix} 1 & 2 \\ 3 & 4 \end{pmatrix}"
ROTATION = r"\begin{pmatrix} 0 & -1 \\ 1 & 0 \end{pmatrix}"
CASES = [
    ("-2", rf"\det{MATRIX}", 1.0),
    ("2", rf"\det{MATRIX}", 0.0),
    ("ps-qr", r"\begin{vmatrix} p & q \\ r & s \end{vmatrix}", 1.0),
    ("ps+qr", r"\begin{vmatrix} p & q \\ r & s \end{vmatrix}", 0.0),
    (rf"{MATRIX}{ROTATION}", r"\begin{pmatrix} 2 & -1 \\ 4 & -3 \end{pmatrix}", 1.0),
    (rf"{MATRIX}{ROTATION}", r"\begin{pmatrix} -3 & -4 \\ 1 & 2 \end{pmatrix}", 0.0),  # the product in the other order
    (r"\sum_{k=1}^{n} k", r"\frac{n(n+1)}{2}", 1.0),
    (r"\sum_{k=1}^{n} k", r"\frac{n(n-1)}{2}", 0.0),
    ("5050", r"\sum_{k=1}^{100} k", 0.0),  # left standing
]


@pytest.mark.slow
@pytest.mark.parametrize("in_thread", [False, True])
def test_what_the_library_reads_R02(in_thread: bool) -> None:
    library.agree.cache_clear()
    pairs = [(f"\\boxed{{{answer}}}", gold) for gold, answer, _ in CASES]
    if in_thread:
        with ThreadPoolExecutor(1) as thread:
            rewards = list(thread.map(lambda pair: score(*pair), pairs))
    else:
        rewards = [score(*pair) for pair in pairs]
    assert rewards == [reward for _, _, reward in CASES]


@pytest.mark.parametrize(
    "formula",
    [
        *("\\det 9^{9^9}", "\\det 9^{9999}", "\\det 9999!", "\\det (99^{99})!", "\\det 9^{99}^{99}^{99}", "\\det (9!)!", "\\det 12345"),
        *(
            "\\det 1.5",
            "\\det \\text{os}",
            "\\det system",
            "\\det 52_8",
            "\\det \\{1,2\\}",
            "\\det (1,2)",
            "\\det" + "(" * 9 + "1" + ")" * 9,
        ),
        "\\det " + "1+" * 90 + "1",
    ],
)
def test_what_the_library_is_not_given(formula: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(text: str) -> list[object]:
        raise AssertionError(text)

    monkeypatch.setattr(library, "parsed", never)
    library.agree.cache_clear()
    assert library.agree("5", formula) is False


def run_for_ever() -> None:
    while True:
        pass


def catch_everything() -> str:
    for _ in range(3):
        try:
            run_for_ever()
        except BaseException:
            continue
    return "came back"


@pytest.mark.parametrize("task", [run_for_ever, catch_everything])
def test_what_takes_too_long_is_ended_in_any_thread_R02(task) -> None:  # type: ignore[no-untyped-def]
    signal.alarm(300)
    try:
        before = time.thread_time()
        assert within(0.1, task) in (None, "came back")
        assert time.thread_time() - before < 2.0
        with ThreadPoolExecutor(1) as thread:
            assert thread.submit(within, 0.1, task).result(300) in (None, "came back")
        assert signal.alarm(0) > 0  # the caller's
    finally:
        signal.alarm(0)
    assert "deadline" not in {thread.name for thread in threading.enumerate()}


def test_what_ends_in_time_gives_its_value_or_its_error() -> None:
    assert within(5.0, lambda: 7) == 7
    with pytest.raises(ZeroDivisionError):
        within(5.0, lambda: 1 / 0)
