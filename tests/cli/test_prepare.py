"""What `ada prepare` says before it starts."""

from __future__ import annotations

import pytest

from ada.cli import main


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("--keep", "p"), "--keep 'p': it must be a range of the pass rate p"),
        (("--keep", "1..2 of 16", "--draws", "8"), "speaks of 16 responses, and --draws is 8"),
        (("--draws", "0"), "--draws 0: it must be 1 or more"),
        (("generation.temprature=1",), "did you mean 'temperature'?"),
        (("data.train.name=jsonl", "data.train.path=none.jsonl", "--keep", "p"), "--keep 'p'"),
    ],
)
def test_what_is_wrong_is_told_with_exit_code_2_and_nothing_written(arguments, complaint, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        main(["prepare", "micro_seq_balance", "--output", "out", *arguments])
    said = capsys.readouterr().err
    assert ended.value.code == 2 and complaint in said and "Traceback" not in said
    assert not list(tmp_path.iterdir())


def test_what_is_no_key_and_no_option_is_refused(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["prepare", "micro_seq_balance", "--output", "out", "--kep=p"])
    assert ended.value.code == 2 and "unrecognized arguments: --kep=p" in capsys.readouterr().err
