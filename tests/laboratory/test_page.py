"""docs/estimators.md holds what the laboratory finds, for every recipe there is; and the command says it of one."""

from __future__ import annotations

import pytest

from ada.cli import main
from ada.laboratory.page import PAGE, with_tables
from ada.laboratory.rows import recipe_rows, reference_rows
from ada.laboratory.tables import EXACT, exact_tables
from ada.recipe.load import recipe_folders

WRITE = "run `python -m ada.laboratory`, which writes the tables of docs/estimators.md anew"


def test_each_recipe_has_one_row():
    names = [name for row in recipe_rows() for name in (row.label, *row.also)]
    assert sorted(names) == sorted(path.stem for path in recipe_folders()[-1].glob("*.yaml"))
    labels = [row.label for row in (*recipe_rows(), *reference_rows())]
    assert len(set(labels)) == len(labels)


def up_to_date(names):
    page = PAGE.read_text(encoding="utf-8")
    assert with_tables(page, exact_tables(names)) == page, WRITE


def test_recipes_and_their_weights_are_up_to_date():
    up_to_date(("rows", "weights"))


@pytest.mark.slow
def test_all_that_is_exact_is_up_to_date():
    up_to_date(EXACT)


def test_tables_go_where_their_marks_are():
    assert with_tables("a\n<!-- table x -->\nold\n<!-- end -->\nb", {"x": "new"}) == "a\n<!-- table x -->\n\nnew\n\n<!-- end -->\nb"
    with pytest.raises(ValueError, match="0 places for table y"):
        with_tables("a", {"y": "new"})


def run(capsys, *arguments):
    with pytest.raises(SystemExit) as ended:
        main(["gradients", *arguments])
    return ended.value.code or 0, *capsys.readouterr()


def test_the_command(capsys, tmp_path):
    """GRPO-n4: 3/4 of the gradient of the pass rate, at every pass rate; and of f' at p = 0.02 the log's is 50."""
    rates = tmp_path / "rates.txt"
    rates.write_text("0\n0.5\n")
    code, out, _ = run(capsys, "micro_grpo_n4", "--pass-rates", str(rates))
    cells = {words[0]: words[1:] for words in map(str.split, out.splitlines()) if words}
    assert code == 0
    assert cells["0.02"][:5] == ["4", "0.75", "1", "7.07", "50"] and cells["0.9"][1] == "0.75"
    assert cells["linear"] == ["1.000", "0.75"]


def test_the_command_says_what_is_wrong_and_exits_with_2(capsys):
    code, _, err = run(capsys, "micro_grpo_n4", "--pass-rates", "beta(0,1)")
    assert code == 2 and "must be above 0" in err and "Traceback" not in err
