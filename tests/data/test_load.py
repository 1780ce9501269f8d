"""What is read before a run: repeated and overlong problems, evaluation problems that are trained on, and whose belief starts where."""

from __future__ import annotations

import json
import os
import threading
from dataclasses import replace

import pytest

from ada.check.data import data_lines
from ada.check.tiny_model import byte_tokenizer
from ada.data.contamination import overlaps
from ada.data.load import load_problems, missing_files
from ada.data.normal_form import normal_form
from ada.data.prompts import PromptFormat, Shot, read_prompts
from ada.data.sources.jsonl import Jsonl
from ada.recipe.validate import read_recipe
from ada.sampling.passrate.ema import EMA
from ada.types import PassRate
from tests.sampling.pools import pool

LONG = "A farmer has twelve cows and sells five of them to a neighbour who pays with thirty hens and a goat"


def jsonl(path, *rows, **keys):
    path.write_text("".join(json.dumps({"problem": problem, "answer": answer} | more) + "\n" for problem, answer, more in rows))
    return Jsonl(path=str(path), **keys)


def row(problem, answer="1", **more):
    return problem, answer, more


@pytest.fixture(scope="module")
def recipe():
    return read_recipe("micro_est_ema", ["generation.max_prompt_tokens=200"])[1]


def load(recipe, train, **sets):
    return load_problems(
        replace(recipe, data=replace(recipe.data, train=train), evaluation=replace(recipe.evaluation, sets=sets)), byte_tokenizer()
    )


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("What is $1+1$?", "what is  1 + 1 ?\n"),
        (r"Find \(\dfrac{1}{2}\,x\).", r"Find $\frac{1}{2}x$"),
        (r"Let \left( x \right) = 2", "Let (x) = 2."),
        ("Compute １２", "compute 12"),
    ],
)
def test_one_problem_in_two_spellings(one, other):
    assert normal_form(one) == normal_form(other)


@pytest.mark.parametrize(
    ("one", "other"), [("b5:0012+0013=", "b5:0012-0013="), ("1 1", "11"), ("1.5", "1 5"), ("2(3+4)", "2(3)+4"), ("-x", "x")]
)
def test_two_problems_are_two(one, other):
    assert normal_form(one) != normal_form(other)


def test_repeated_problems_are_dropped_and_counted(recipe, tmp_path):
    train = jsonl(tmp_path / "train.jsonl", row("1+1?", "2"), row("2+2", "4"), row("1 + 1 ?", "2"), row("1+1", "3"))
    test = jsonl(tmp_path / "test.jsonl", row("3+3", "6"), row("3 + 3", "6"))
    problems = load(recipe, train, test=test)
    assert [(p.id, p.answer) for p in problems.train] == [("jsonl/1", "2"), ("jsonl/2", "4")]
    assert "jsonl: dropped 2 of 4 rows, repeated problems, 1 of them with another answer" in problems.notes[0]
    assert len(problems.held_out["test"]) == 2  # an evaluation set keeps its size
    assert "test: 1 repeated problems" in problems.notes[1]


def test_overlong_prompts_are_dropped_and_counted(recipe, tmp_path):
    train = jsonl(tmp_path / "train.jsonl", row("x" * 201), row("y" * 200), row("z"))
    dropping = replace(recipe, data=replace(recipe.data, prompt=PromptFormat(overlong="drop")))
    problems = load(dropping, train, test=jsonl(tmp_path / "test.jsonl", row("w")))
    assert [len(p.token_ids) for p in problems.train] == [200, 1]
    assert problems.notes == ["data       jsonl: dropped 1 of 3 rows, prompts of more than 200 tokens"]


def test_evaluation_problems_in_the_training_data_are_reported(recipe, tmp_path):
    other_number = LONG.replace("thirty", "forty")
    train = jsonl(tmp_path / "train.jsonl", row("1+1"), row("2+2"), row(other_number), row("9"))
    notes = load(
        recipe, train, clean=jsonl(tmp_path / "c.jsonl", row("8")), test=jsonl(tmp_path / "t.jsonl", row("$1 + 1$."), row(LONG))
    ).notes
    assert notes == [
        "data       evaluation set 'test': 1 of 2 problems are in the training data (first: test/1 as jsonl/1), "
        "1 of 2 problems have a near copy there (first: test/2 as jsonl/3)"
    ]


def test_check_counts_what_is_in_the_data(recipe, tmp_path):
    train = jsonl(tmp_path / "train.jsonl", row("1+1"), row("2+2"), row("1 + 1"))
    sets = {
        "one": jsonl(tmp_path / "one.jsonl", row("2 + 2")),
        "two": jsonl(tmp_path / "two.jsonl", row("3")),
        "none": Jsonl(path="none.jsonl"),
    }
    used = replace(recipe, data=replace(recipe.data, train=train), evaluation=replace(recipe.evaluation, sets=sets))
    read, missing = data_lines(used)
    assert [line.replace(str(tmp_path), "") for line in read] == [
        "training: 3 rows read from jsonl /train.jsonl, 1 of them repeated",
        "one: 1 rows read from jsonl /one.jsonl; 1 of 1 problems are in the training data (first: 1 as 2)",
        "two: 1 rows read from jsonl /two.jsonl; none of them, nor a near copy, in the training data",
    ]
    assert missing == ["none: not read: none.jsonl: no such file. Set data.train.path (or the evaluation set's path) to a .jsonl file."]
    assert missing_files(used) == {"evaluation.sets.none.path": "none.jsonl"}


def test_a_near_copy_shares_half_of_the_runs_of_eight_words():
    """20 words have 13 runs of 8. With the last 14 words the training problem shares 7 of them; with the last 13, 6."""
    words = [f"w{i}" for i in range(20)]
    held_out = {"test": {"e": " ".join(words)}}
    assert overlaps({"t": " ".join(["x", *words[6:]])}, held_out)["test"].near == {"e": "t"}
    assert overlaps({"t": " ".join(["x", *words[7:]])}, held_out)["test"].near == {}
    assert overlaps({"t": " ".join(words)}, held_out)["test"].same == {"e": "t"}


def test_pass_rates_of_the_data_are_the_belief_to_start_from(recipe, tmp_path):
    """4 of 16 and 0 of 16 right; the estimator's prior is worth one right and one wrong, and it keeps half at each visit."""
    train = jsonl(tmp_path / "train.jsonl", row("1", p=0.25), row("2", p=0.0), pass_rate="p")
    easy, hard = load(recipe, train, test=jsonl(tmp_path / "t.jsonl", row("3"))).train
    beliefs = EMA(discount=0.5).start()
    assert beliefs.believe([easy, hard]) == [PassRate(5 / 18, 16.0), PassRate(1 / 18, 16.0)]
    visited = pool("RRRW")
    visited.prompt = easy
    beliefs.learn([visited])  # T = 8 + 4, P = 2 + 3
    assert beliefs.believe([easy]) == [PassRate(6 / 14, 12.0)]


WRONG = {  # a file's second line, and how it is told
    "malformed": (b'{"problem": "2", "answer" "2"}', "train.jsonl, line 2, column 27: not valid JSON"),
    "wrong encoding": (b'{"problem": "\xff", "answer": "2"}', "train.jsonl, line 2, column 14: byte 0xff is not UTF-8"),
    "missing column": (b'{"problem": "2"}', "train.jsonl, line 2: no column 'answer'"),
    "empty answer": (b'{"problem": "2", "answer": ""}', "train.jsonl, line 2, column 'answer': the value is empty"),
    "not a number": (b'{"problem": "2", "answer": NaN}', "train.jsonl, line 2, column 'answer': found nan"),
    "10 MB": (b'{"problem": "%s", "answer": "2"}' % (b"x" * 10_000_000), "line 2, column 'problem': the value has 10,000,000 characters"),
    "missing file": (None, "no such file"),
}


@pytest.mark.slow
def test_wrong_data_is_told_in_a_line_and_leaves_nothing_behind_X02(tmp_path, monkeypatch, capsys):
    from ada.cli.prepare import prepare
    from ada.cli.train import train

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("ada.shutdown.StopRequest.install", lambda self: self)
    keys = ["data.train.name=jsonl", "data.train.path=train.jsonl", "engine=transformers"]
    commands = {
        "train": lambda: train("micro_seq_balance", keys),
        "prepare": lambda: prepare("micro_seq_balance", keys, output="prepared", keep="0 < p < 1", draws=2),
    }
    for kind, (line, told) in WRONG.items():
        file = tmp_path / "train.jsonl"
        file.unlink(missing_ok=True)
        if line is not None:
            file.write_bytes(b'{"problem": "1", "answer": "1"}\n' + line + b"\n")
        for command, run in commands.items():
            assert run() == 2, (kind, command)
            said = capsys.readouterr().err
            assert told in said and "Traceback" not in said, (kind, command, said)
            assert [path.name for path in tmp_path.iterdir()] == (["train.jsonl"] if line is not None else []), (kind, command)


def test_ids_follow_the_template_and_the_tokenizer_at_once_X01(tmp_path):
    """Nothing tokenised is kept between runs: another template or tokenizer gives its own ids, the same as a first run with it."""
    source = jsonl(tmp_path / "t.jsonl", row("1"), row("2"))

    def ids(template):
        tokenizer = byte_tokenizer()
        tokenizer.chat_template = template
        return [p.token_ids for p in read_prompts(source, "t", PromptFormat(style="chat"), tokenizer, 99).prompts]

    first, other = ids("A{{ messages[0].content }}"), ids("B{{ messages[0].content }}")
    plain = byte_tokenizer()
    assert first == [tuple(plain(text).input_ids) for text in ("A1", "A2")]
    assert other == [tuple(plain(text).input_ids) for text in ("B1", "B2")]


def test_reading_starts_no_process_and_waits_for_no_thread_X03(recipe, tmp_path, monkeypatch):
    """With a thread that holds a lock for good, 20 times: there is no pool of workers that could inherit it."""
    train = jsonl(tmp_path / "train.jsonl", *(row(f"{i}+{i}") for i in range(50)))
    test = jsonl(tmp_path / "test.jsonl", row("x"))
    held, done = threading.Lock(), threading.Event()

    def hold():
        with held:
            done.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    for name in ("fork", "posix_spawn", "posix_spawnp"):
        monkeypatch.setattr(os, name, lambda *_: pytest.fail("a process was started"))
    try:
        assert [len(load(recipe, train, test=test).train) for _ in range(20)] == [50] * 20
    finally:
        done.set()
        thread.join()


def test_shots_come_before_the_problem(tmp_path):
    source, tokenizer = jsonl(tmp_path / "t.jsonl", row("3+4=")), byte_tokenizer()
    shots = [Shot(problem="1+1=", response="2"), Shot(problem="2+2=", response="4")]
    (raw,) = read_prompts(source, "t", PromptFormat(prefix="Q: ", suffix="\nA: ", shots=shots), tokenizer, 200).prompts
    assert raw.text == "Q: 1+1=\nA: 2\n\nQ: 2+2=\nA: 4\n\nQ: 3+4=\nA: "
    (chat,) = read_prompts(source, "t", PromptFormat(style="chat", system="S", shots=shots[:1]), tokenizer, 200).prompts
    turns = [("system", "S"), ("user", "1+1="), ("assistant", "2"), ("user", "3+4=")]
    assert chat.text == "".join(f"<|im_start|>{role}\n{text}<|im_end|>\n" for role, text in turns) + "<|im_start|>assistant\n"
