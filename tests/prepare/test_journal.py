"""A preparation's journal: cut anywhere, it goes on."""

from __future__ import annotations

import pytest

from ada.data.sources import DataError
from ada.prepare.journal import Drawn, Journal

ONE, TWO = Drawn("s/1", 1, 3, 0, 1, 40), Drawn("s/ü", 0, 4, 0, 0, 44)
SETTINGS = {"draws": 4, "generation": {"temperature": 1.0}}


def written(path):
    journal = Journal(path, SETTINGS)
    journal.note_golds({"s/1": "right", "s/ü": "timeout"})
    journal.note_drawn([ONE, TWO])
    journal.close()
    return path.read_bytes()


def test_it_goes_on_wherever_it_was_cut(tmp_path):
    path = tmp_path / "journal.jsonl"
    content = written(path)
    for length in {*range(0, len(content), 9), *(i + 1 for i, byte in enumerate(content) if byte == 10)}:
        path.write_bytes(content[:length])
        journal = Journal(path, SETTINGS)
        assert journal.golds.items() <= {"s/1": "right", "s/ü": "timeout"}.items() and set(journal.drawn.values()) <= {ONE, TWO}
        journal.note_golds({id: verdict for id, verdict in {"s/1": "right", "s/ü": "timeout"}.items() if id not in journal.golds})
        journal.note_drawn([ONE, TWO])
        journal.close()
        assert path.read_bytes() == content


def test_other_settings_are_refused_with_their_difference(tmp_path):
    content = written(tmp_path / "journal.jsonl")
    with pytest.raises(DataError, match=r"begun with other settings: draws is 4 there and 8 now\. Choose another --output"):
        Journal(tmp_path / "journal.jsonl", SETTINGS | {"draws": 8})
    assert (tmp_path / "journal.jsonl").read_bytes() == content
    (tmp_path / "other.jsonl").write_text('{"problem": "1"}\n')
    with pytest.raises(DataError, match=r"other\.jsonl, line 1: not a line of a preparation's journal"):
        Journal(tmp_path / "other.jsonl", SETTINGS)
