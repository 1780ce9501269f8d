"""Nothing a response can contain makes scoring slow: each part of the notation repeated, nested, and blown up."""

from __future__ import annotations

import time

import pytest

from ada.rewards.answers.evaluation import evaluate
from ada.rewards.answers.expression import read_expression
from ada.rewards.answers.limits import ANSWER_CHARACTERS, Unreadable
from ada.rewards.math import score

SECONDS = 1.5  # of this thread's processor time; the slowest takes about 0.4

REPEATED = "|".join(
    [
        r"""a|ab |1|1,|1, |{|}|(|()|((1)|[|\text{a}|\text{|\text{ab} |a^2|x_|\{|1:|a=|=|x=1,|<|x<|±|\pm1|1e5|1 |$|\|\\|&""",
        r"""\frac|\frac12|\sqrt|\angle A|a/|/|and |or |. |-|--|+|!|1!|°|%|A,|(A)|_{|\left(|\begin{pmatrix}|\end{pmatrix}|1&""",
        r"""\cup|\cup(1,2)|[1,2]|甲|e^|2^|\log_2|\sin |sin |million |cm/|5 cm |'|x'|\textbf{\text{|1{,}000|1,000|000,|\!|½|√""",
        r"""²|\boxed{|\boxed{1}|\boxed{1},|\fbox|\boxed |answer: |answer is |The answer is $|#### 1 |答案是|<think>|</think>|*""",
        r"""\[|$$|<|im_end|>|x \in |ℝ\setminus|\{1,2\}|f(x)=|f(|1/x|1^1|\binom|1_5|12:30|≈|1≤x≤2|¤|€|np.|\operatorname{""",
        r"""\circ|\mathbb{R}|\lfloor 1|therefore |∅|\max(1,|C(1,2)|_1C_1|1≡|\pmod 3|1,…,|\hat{i|x^2<|0.1212|\det|half """,
    ]
).split("|")


@pytest.mark.slow
@pytest.mark.parametrize("length", [ANSWER_CHARACTERS - 20, 50_000])
def test_repeated_notation(length: int) -> None:
    slow = []
    for part in [*REPEATED, "|", "\n", "\t", " ", "\x00", "\ud800"]:
        for tail in ("", "?"):
            body = part * (length // len(part)) + tail
            for response in (body, f"\\boxed{{{body}}}", f"Answer: {body}"):
                start = time.thread_time()
                assert score(response, "5") in (0.0, 1.0)
                if time.thread_time() - start > SECONDS:
                    slow.append((part, tail, response[:20]))
    assert not slow


HEAVY = [
    *("2999!", "\\binom{5999}{2999}", "(x/3)!", "\\binom{x}{y}", "10^{999999}", "1.0000001^{999999}", "e^{999999}", "\\sin(10^{99})"),
    *(
        "1/3^{9999}",
        "x^{999}",
        "\\lfloor 10^{99}\\pi\\rfloor",
        "\\cosh(999999)",
        "99999999^{99999}",
        "(1+i)^{99999.3}",
        "x^{x^{x}}",
        "(\\pi)!",
    ),
]


@pytest.mark.parametrize("gold", ["5", "x!+y", "x^{999}", "1,2,3", "x+y=3", "\\{2999!,3^{9999}\\}"])
def test_heavy_formulas_end_soon(gold: str) -> None:
    for formula in HEAVY:
        for operator in "+,":
            count = min(90, (ANSWER_CHARACTERS - 20) // (len(formula) + 1))
            start = time.thread_time()
            assert score(f"\\boxed{{{operator.join([formula] * count)}}}", gold) in (0.0, 1.0)
            assert time.thread_time() - start < SECONDS, (formula, operator)


@pytest.mark.parametrize(
    "formula",
    [
        "9^{9^9}",
        "10^{10^{10}}",
        "(10^9)!",
        "\\binom{10^9}{5\\cdot 10^8}",
        "2^{2^{2^{2^{2^2}}}}",
        "\\sin(10^{10^5})",
        "7" * 2001,
        "(" * 30 + "1" + ")" * 30,
    ],
)
def test_what_is_beyond_the_bounds_is_refused(formula: str) -> None:
    with pytest.raises(Unreadable):
        evaluate(read_expression(formula), {}, real=True)


def test_what_is_within_the_bounds_is_exact() -> None:
    assert score("\\boxed{2^{10000}+1}", "2^{10000}") == 0.0
    assert score("\\boxed{27^{675} \\cdot 3}", "3^{2026}") == 1.0
    assert score("\\boxed{9007199254740992}", "9007199254740993") == 0.0
    assert score(f"\\boxed{{{2**6000}}}", "2^{6000}") == 1.0
