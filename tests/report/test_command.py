"""`ada report`: which file it writes, and what it says where there is nothing to report on."""

import pytest

from ada.cli import main
from tests.report.runs import step, write


def ended(command):
    with pytest.raises(SystemExit) as end:
        main(command)
    return end.value.code


def test_one_run_has_its_page_in_its_folder_and_several_have_theirs_beside_them(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for name in ("a", "b"):
        write(tmp_path / "runs" / name, [step(0), step(1, reward_mean=0.5)])
    assert [ended(["report", *runs]) for runs in (["a"], ["a", "runs/b"], ["b", "--output", "page.html"])] == [0, 0, 0]
    assert capsys.readouterr().out.split() == ["runs/a/report.html", "runs/comparison.html", "page.html"]
    assert "Comparison of 2 runs" in (tmp_path / "runs" / "comparison.html").read_text()
    assert (tmp_path / "page.html").read_text().count("<h1>b</h1>") == 1


def test_a_wrong_name_or_folder_ends_with_2_and_says_what_there_is(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "runs" / "micro", [step(1)])
    assert ended(["report", "macro"]) == 2 and "Runs in runs: micro." in capsys.readouterr().err
    assert ended(["report", "micro", "--output", "no/page.html"]) == 2
    assert "the folder no does not exist" in capsys.readouterr().err
