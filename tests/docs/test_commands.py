"""Each command in docs/ and the README does what it is shown to do: read by its parser, and run, as `ways.py` says.

The two pages on data have a test of their own, which runs their ```sh blocks as a whole: test_data_pages.py.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys

import pytest

import ada.cli
from ada.cli import main
from ada.cli.examples import EXAMPLES
from ada.evaluation.suite import read_suite
from ada.recipe.validate import read_recipe
from tests.docs.pages import PAGES, ROOT, blocks, commands, spans
from tests.docs.stand_ins import write_stand_ins
from tests.docs.ways import ELSEWHERE, READ, SMALLER, expanded, of_ada


def test_no_command_hides_in_a_block_that_is_not_run():
    languages = {"bash", "yaml", "python", "text", "{toctree}"}
    for page in PAGES:
        own = languages | {"sh"} if page.stem in ("train-on-my-data", "prepare") else languages
        text = page.read_text()
        assert set(re.findall(r"^ *```(\S*)\n(?=(?:.*\n)*? *```$)", text, re.MULTILINE)) - {""} <= own, page.name
        others = [*blocks(page, *languages - {"bash"}), *re.findall(r"(?:^    .*\n)+", text, re.MULTILINE)]
        assert not [
            line for block in others for line in block.splitlines() if re.match(r"\s*(\$ |ada |make |python |torchrun |pip )", line)
        ]


def test_every_command_has_a_way_to_be_run_and_every_way_a_command():
    shown = commands()
    assert len(shown) > 30
    assert not [command for command in [*ELSEWHERE, *READ] if command not in shown]
    rest = [command for command in shown if command not in ELSEWHERE and command not in READ]
    assert not [command for command in rest if of_ada(expanded(command))[0] not in SMALLER]


@pytest.mark.parametrize("command", commands())
def test_its_arguments_are_taken_and_its_recipe_or_suite_is_read(command, monkeypatch):
    words = expanded(command)
    if command == "make test":
        return  # pytest reads these below
    taken = {}

    class Command:
        def __getattr__(self, name):
            return lambda **given: taken.update(given) or 0

    monkeypatch.setattr(ada.cli, "import_module", lambda name: Command())
    arguments = of_ada(words)
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 0 and taken
    if arguments[0] == "eval":
        read_suite(taken["suite"], taken["overrides"])
    elif taken.get("name") and "overrides" in taken and taken["name"] != "my_problems":  # test_data_pages.py reads that one
        read_recipe(taken["name"], taken["overrides"])


def test_targets_and_subcommands_in_the_text_are_there():
    makefile = (ROOT / "Makefile").read_text()
    for span, page in spans().items():
        words = span.split()
        if words[0] == "ada" and len(words) > 1 and words[1] != "needs":
            assert words[1] in EXAMPLES, f"{page}: {span}"
        if words[0] == "make":
            assert all(
                re.search(rf"^{w}:|\$[({{]{w.split('=')[0]}\b", makefile, re.MULTILINE)
                for w in words[1:]
                if re.match(r"[a-z-]+$|[A-Z_]+=", w)
            ), span


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_every_command_runs(tmp_path):
    """In an order in which each finds what those before it left: runs, then what reads them."""
    write_stand_ins(tmp_path)
    arguments = []
    for command in [command for command in commands() if command not in ELSEWHERE and command not in READ]:
        subcommand = of_ada(expanded(command))[0]
        arguments.append(of_ada(expanded(command, more=" ".join(SMALLER[subcommand]))))
    arguments.sort(key=lambda words: list(SMALLER).index(words[0]))
    (tmp_path / "commands.json").write_text(json.dumps(arguments))
    kept = {name: value for name, value in os.environ.items() if name in ("PATH", "HOME", "TMPDIR", "LD_LIBRARY_PATH")}
    done = subprocess.run(
        [sys.executable, str(ROOT / "tests/docs/run_commands.py"), "commands.json"],
        cwd=tmp_path,
        env=kept | {"PYTHONPATH": str(ROOT), "HF_HOME": str(tmp_path / "hub"), "HF_HUB_OFFLINE": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, "\n".join(line for line in done.stdout.splitlines() if re.match(r"exit [^0]", line)) + done.stderr[-6000:]
    assert done.stdout.count("exit 0 after") == len(arguments)
    assert "[WARNING]" not in done.stdout + done.stderr  # of libraries: nothing that a user could act on
    assert "runs/micro_seq_balance/report.html shows it" in done.stdout and "my_problems is sound" in done.stdout
    assert "training: 4 rows read from jsonl my_problems.jsonl" in done.stdout
    assert "test: 1 rows read from jsonl my_test.jsonl; none of them, nor a near copy, in the training data" in done.stdout
    assert "1 of 1 steps done" in (tmp_path / "runs/micro_seq_balance/report.html").read_text()
    for left in (
        "runs/comparison.html",
        "comparison.html",
        "draws.csv",
        "curves.png",
        "openr1/problems.parquet",
        "evals/trained/results.md",
    ):
        assert (tmp_path / left).stat().st_size > 0, left


@pytest.mark.slow
def test_the_tests_are_found_as_the_makefile_asks_for_them():
    words = expanded("make test", more="--collect-only -q tests/docs/test_pages.py")
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    done = subprocess.run([sys.executable, "-m", "pytest", *words[1:]], cwd=ROOT, env=kept, capture_output=True, text=True)
    assert done.returncode == 0 and "test_every_method_is_described" in done.stdout, done.stdout + done.stderr


@pytest.mark.slow
def test_the_site_is_built_without_a_warning_and_asks_nothing_of_the_network(tmp_path):
    pytest.importorskip("sphinx")
    build = ["-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html", "-d", str(tmp_path / "trees"), "docs", str(tmp_path / "site")]
    done = subprocess.run([sys.executable, *build], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    page = (tmp_path / "site" / "methods.html").read_text()
    assert "Methods" in page and 'src="http' not in page and 'rel="stylesheet" href="http' not in page
