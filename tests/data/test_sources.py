"""Problem files of each kind: rows in order, and for each way a file can be wrong a message that names file, line and column."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow
import pytest
from pyarrow import parquet

from ada.data.sources import DataError, MissingData, Row
from ada.data.sources.generator import Generator
from ada.data.sources.jsonl import LONGEST_LINE, Jsonl
from ada.data.sources.microworld import Microworld
from ada.data.sources.parquet import Parquet
from ada.rewards import math
from ada.types import PassRate


def file_of(folder: Path, *lines: str | bytes) -> str:
    path = folder / "problems.jsonl"
    path.write_bytes(b"".join((line.encode() if isinstance(line, str) else line) + b"\n" for line in lines))
    return str(path)


def table_of(folder: Path, name: str = "problems.parquet", **columns) -> str:
    folder.mkdir(exist_ok=True)
    parquet.write_table(pyarrow.table(columns), folder / name)
    return str(folder / name)


def test_rows_come_in_order_with_line_numbers_as_ids(tmp_path):
    path = file_of(tmp_path, '{"problem": "1+1", "answer": "2"}', "", '{"problem": "ä", "answer": "π", "more": [1]}\r')
    assert list(Jsonl(path=path).rows()) == [Row("1", "1+1", "2"), Row("3", "ä", "π")]


def test_columns_are_mapped_and_numbers_are_text(tmp_path):
    path = file_of(tmp_path, *(json.dumps({"q": 7, "a": answer, "n": n}) for n, answer in enumerate([0, 3.0, 2.5, -4, "x"])))
    rows = list(Jsonl(path=path, problem="q", answer="a", id="n").rows())
    assert [row.answer for row in rows] == ["0", "3", "2.5", "-4", "x"]
    assert [row.id for row in rows] == ["0", "1", "2", "3", "4"]
    assert rows[0].problem == "7"


def test_limit_counts_rows(tmp_path):
    path = file_of(tmp_path, "", *(json.dumps({"problem": str(i), "answer": "1"}) for i in range(5)), "not JSON")
    assert [row.problem for row in Jsonl(path=path, limit=3).rows()] == ["0", "1", "2"]


def test_a_column_may_lie_inside_another(tmp_path):
    """The layout of verl's files."""
    record = {"prompt": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "1+1"}], "reward_model": {"gold": 2}}
    source = Jsonl(path=file_of(tmp_path, json.dumps(record)), problem="prompt.1.content", answer="reward_model.gold")
    assert list(source.rows()) == [Row("1", "1+1", "2")]
    in_parquet = Parquet(
        path=table_of(tmp_path, **{key: [value] for key, value in record.items()}), problem=source.problem, answer=source.answer
    )
    assert list(in_parquet.rows()) == [Row("1", "1+1", "2")]


def test_a_mark_of_byte_order_is_no_part_of_the_text(tmp_path):
    assert list(Jsonl(path=file_of(tmp_path, b'\xef\xbb\xbf{"problem": "1", "answer": "2"}')).rows()) == [Row("1", "1", "2")]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"problem": "1", "answer" "2"}', r"column 27: not valid JSON"),
        ("é".encode() + b'{"problem": "\xff", "answer": "2"}', r"column 15: byte 0xff is not UTF-8"),
        ('["1", "2"]', r"found a JSON list; each line must be an object with the columns 'problem' and 'answer'"),
        ('{"problem": "1", "solution": "2"}', r"no column 'answer', which earlier rows have"),
        ('{"problem": "1", "answer": null}', r"column 'answer': found None; allowed is text or a number"),
        ('{"problem": "1", "answer": true}', r"column 'answer': found True"),
        ('{"problem": "1", "answer": ["2"]}', r"column 'answer': found \['2'\].*`answer\.0`"),
        ('{"problem": "1", "answer": NaN}', r"column 'answer': found nan"),
        ('{"problem": "1", "answer": "nan"}', r"column 'answer': found the text 'nan'"),
        ('{"problem": "1", "answer": Infinity}', r"column 'answer': found inf"),
        ('{"problem": " ", "answer": "2"}', r"column 'problem': the value is empty"),
        ('{"problem": "1", "answer": ""}', r"column 'answer': the value is empty"),
        ('{"problem": "ab\\ud800", "answer": "2"}', r"column 'problem': character 3 is half of a surrogate pair"),
        ('{"problem": "' + "x" * 10_000_000 + '", "answer": "2"}', r"column 'problem': the value has 10,000,000 characters"),
        ("[" * 100_000, r"JSON that cannot be read"),
        ('{"problem": "1", "answer": ' + "9" * 5_000 + "}", r"JSON that cannot be read"),
    ],
)
def test_a_wrong_row_is_named_by_file_line_and_column_X02(tmp_path, line, message):
    path = file_of(tmp_path, '{"problem": "0", "answer": "0"}', line)
    with pytest.raises(DataError, match=rf"problems\.jsonl, line 2(, |: ){message}"):
        list(Jsonl(path=path).rows())


@pytest.mark.parametrize(
    ("column", "values", "message"),
    [
        ("answer", ["1", None], r"row 2, column 'answer': found None"),
        ("answer", [1.0, float("nan")], r"row 2, column 'answer': found nan"),
        ("answer", ["1", ""], r"row 2, column 'answer': the value is empty"),
        ("problem", ["1", "x" * 1_000_001], r"row 2, column 'problem': the value has 1,000,001 characters"),
        ("problem", [b"1", b"\xff"], r"row 2, column 'problem': byte 0 is not UTF-8"),
    ],
)
def test_a_wrong_row_of_a_table_is_named_X02(tmp_path, column, values, message):
    path = table_of(tmp_path, **{"problem": ["p", "q"], "answer": ["1", "2"], column: values})
    with pytest.raises(DataError, match=rf"problems\.parquet, {message}"):
        list(Parquet(path=path).rows())


def test_equal_answers_of_other_types_score_alike_X02(tmp_path):
    """5, "5", 5.0, full-width 5; and a minus sign that is not the hyphen. The text form goes through saving and loading."""
    answers = [5, "5", 5.0, "５", "−5"]
    path = file_of(tmp_path, *(json.dumps({"problem": "p", "answer": answer, "metadata": None}) for answer in answers))
    read = [row.answer for row in Jsonl(path=path).rows()]
    assert read[:3] == ["5", "5", "5"]
    assert [math.score("\\boxed{5}", answer) for answer in read] == [1, 1, 1, 1, 0] and math.score("\\boxed{-5}", read[4]) == 1
    saved = table_of(tmp_path, problem=["p"] * len(read), answer=read)
    assert [row.answer for row in Parquet(path=saved).rows()] == read


@pytest.mark.parametrize(
    ("record", "keys", "fix"),
    [
        ({"problem": "1", "gt": "2", "level": 3}, {}, r"no column 'answer'; the columns are 'problem', 'gt', 'level'\. .*`answer: gt`"),
        ({"question": "1", "answer": "2"}, {}, r"no column 'problem'; .*`problem: question`"),
        ({"problem": "1", "answers": "2"}, {"answer": "answer_"}, r".*`answer: answers`"),
        ({"problem": "1", "answer": "2", "p": 0.5}, {"pass_rate": "rate"}, r".*key `pass_rate` to one of them\."),
    ],
)
def test_the_first_row_shows_what_to_map(tmp_path, record, keys, fix):
    with pytest.raises(DataError, match=r"problems\.jsonl, line 1: " + fix):
        list(Jsonl(path=file_of(tmp_path, json.dumps(record)), **keys).rows())
    table = table_of(tmp_path, **{key: [value] for key, value in record.items()})
    with pytest.raises(DataError, match=r"problems\.parquet, row 1: " + fix):
        list(Parquet(path=table, **keys).rows())


def test_an_id_may_come_once_only_A07(tmp_path):
    path = file_of(tmp_path, *(json.dumps({"problem": "1", "answer": "1", "key": key}) for key in ("a", "b", "a")))
    with pytest.raises(DataError, match=r"line 3: id 'a' is already that of \S+problems\.jsonl, line 1"):
        list(Jsonl(path=path, id="key").rows())


def test_no_file_and_no_rows(tmp_path):
    for source in (Jsonl(path="nowhere.jsonl"), Parquet(path="nowhere.parquet"), Parquet(path=str(tmp_path))):
        with pytest.raises(MissingData, match="no such file"):
            list(source.rows())
    for empty in (Jsonl(path=file_of(tmp_path, "", " ")), Parquet(path=table_of(tmp_path, problem=[], answer=[]))):
        with pytest.raises(DataError, match="holds no rows"):
            list(empty.rows())
    with pytest.raises(DataError, match="cannot be read"):
        list(Jsonl(path=str(tmp_path)).rows())
    (tmp_path / "text.parquet").write_text("no table")
    with pytest.raises(DataError, match=r"text\.parquet: not a parquet file"):
        list(Parquet(path=str(tmp_path / "text.parquet")).rows())


def test_a_file_without_line_ends_is_not_read_whole(tmp_path):
    path = tmp_path / "one.jsonl"
    with path.open("wb") as file:
        file.truncate(LONGEST_LINE * 1000)  # sparse: 64 GB of zeros
    with pytest.raises(DataError, match=r"one\.jsonl, line 1: more than 67,108,864 bytes"):
        list(Jsonl(path=str(path)).rows())


def test_a_folder_of_tables_is_read_in_the_order_of_names(tmp_path):
    for number in (2, 1):
        table_of(tmp_path / "parts", f"part-{number}.parquet", problem=[f"p{number}"], answer=[number])
    assert list(Parquet(path=str(tmp_path / "parts")).rows()) == [Row("1", "p1", "1"), Row("2", "p2", "2")]


def test_pass_rates_become_priors(tmp_path):
    path = table_of(tmp_path, problem=["p", "q"], answer=["1", "2"], rate=[0.25, 1.0])
    rows = list(Parquet(path=path, pass_rate="rate", pass_rate_draws=8).rows())
    assert [row.prior for row in rows] == [PassRate(0.25, 8), PassRate(1.0, 8)]
    assert [row.prior for row in Parquet(path=path).rows()] == [None, None]
    wrong = table_of(tmp_path, problem=["p", "q"], answer=["1", "2"], rate=[0.25, 1.5])
    with pytest.raises(DataError, match=r"row 2, column 'rate': found 1\.5; a pass rate is a number from 0 to 1"):
        list(Parquet(path=wrong, pass_rate="rate").rows())


def test_a_function_may_yield_problems(tmp_path, monkeypatch):
    (tmp_path / "my_sums.py").write_text(
        "def rows():\n    n = 0\n    while True:\n        n += 1\n        yield {'problem': f'{n}+{n}', 'answer': 2 * n}\n"
        "def none():\n    yield 'text'\n"
    )
    monkeypatch.chdir(tmp_path)
    assert list(Generator(function="my_sums:rows", limit=2).rows()) == [Row("1", "1+1", "2"), Row("2", "2+2", "4")]
    for function, message in (
        ("my_sums:none", "row 1: found a str"),
        ("my_sums:more", "no function 'more'"),
        ("no_such_sums:rows", "cannot be imported"),
    ):
        with pytest.raises(DataError, match=message):
            list(Generator(function=function).rows())


def test_the_micro_world_is_a_source():
    train, held_out = (list(Microworld(split=split).rows()) for split in ("train", "heldout"))
    assert (len(train), len(held_out)) == (512, 200)
    assert len({row.id for row in train + held_out}) == 712 == len({row.problem for row in train + held_out})
