"""Problem files: rows in order, and for each way a file can be wrong a message that names file, line and column."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ada.data.sources import DataError, Row
from ada.data.sources.jsonl import Jsonl
from ada.data.sources.microworld import Microworld


def file_of(folder: Path, *lines: str | bytes) -> str:
    path = folder / "problems.jsonl"
    path.write_bytes(b"".join((line.encode() if isinstance(line, str) else line) + b"\n" for line in lines))
    return str(path)


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


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"problem": "1", "answer" "2"}', r"column 27: not valid JSON"),
        (b'{"problem": "\xff", "answer": "2"}', r"byte 13: not UTF-8"),
        ('["1", "2"]', r"found a JSON list; each line must be an object with the columns 'problem' and 'answer'"),
        ('{"problem": "1", "solution": "2"}', r"no column 'answer'; the row has \['problem', 'solution'\]"),
        ('{"problem": "1", "answer": null}', r"column 'answer': found None; allowed is text or a number"),
        ('{"problem": "1", "answer": true}', r"column 'answer': found True"),
        ('{"problem": "1", "answer": ["2"]}', r"column 'answer': found \['2'\]"),
        ('{"problem": "1", "answer": NaN}', r"column 'answer': found nan"),
        ('{"problem": "1", "answer": Infinity}', r"column 'answer': found inf"),
        ('{"problem": " ", "answer": "2"}', r"column 'problem': the value is empty"),
    ],
)
def test_a_wrong_row_is_named_by_file_line_and_column(tmp_path, line, message):
    path = file_of(tmp_path, '{"problem": "0", "answer": "0"}', line)
    with pytest.raises(DataError, match=rf"problems\.jsonl, line 2(, |: ){message}"):
        list(Jsonl(path=path).rows())


def test_an_id_may_come_once_only_A07(tmp_path):
    path = file_of(tmp_path, *(json.dumps({"problem": "1", "answer": "1", "key": key}) for key in ("a", "b", "a")))
    with pytest.raises(DataError, match="line 3: id 'a' is already that of line 1"):
        list(Jsonl(path=path, id="key").rows())


def test_no_file_and_no_rows(tmp_path):
    with pytest.raises(DataError, match="nowhere.jsonl: no such file"):
        list(Jsonl(path="nowhere.jsonl").rows())
    with pytest.raises(DataError, match="holds no rows"):
        list(Jsonl(path=file_of(tmp_path, "", " ")).rows())


def test_the_micro_world_is_a_source():
    train, held_out = (list(Microworld(split=split).rows()) for split in ("train", "heldout"))
    assert (len(train), len(held_out)) == (512, 200)
    assert len({row.id for row in train + held_out}) == 712 == len({row.problem for row in train + held_out})
