"""Each command in docs/ and the README does what it is shown to do: parsed, its recipe read, and run where that is cheap.

Two pages have a test of their own: see pages.py.
"""

from __future__ import annotations

import shlex
import shutil
import subprocess

import pytest

import ada.cli
from ada.cli import main
from ada.evaluation.suite import read_suite
from ada.recipe.validate import read_recipe
from tests.docs.pages import ROOT, commands
from tests.run.launch import SHORT

RUN = ("report", "plan", "simulate", "recipes")  # subcommands that take a second or two
ADA = [words[1:] for words in commands() if words[0] == "ada"]
MAKE = [words[1:] for words in commands() if words[0] == "make"]


def shown(command):
    return " ".join(command)


def test_every_command_is_one_that_is_tested_here():
    assert len(ADA) > 5 and len(MAKE) > 3
    assert not [words for words in commands() if words[0] not in ("ada", "make")]


@pytest.mark.parametrize("command", ADA, ids=shown)
def test_ada_takes_the_arguments(command, monkeypatch):
    taken = {}

    class Command:
        def __getattr__(self, name):
            return lambda **given: taken.update(given) or 0

    monkeypatch.setattr(ada.cli, "import_module", lambda name: Command())
    with pytest.raises(SystemExit) as ended:
        main(command)
    assert ended.value.code == 0 and taken
    if command[0] in ("train", "check", "plan", "simulate") and taken["name"]:
        read_recipe(taken["name"], taken["overrides"])


@pytest.mark.parametrize("command", MAKE, ids=shown)
def test_make_knows_the_target_and_the_recipe_can_be_read(command):
    done = subprocess.run(["make", "-n", *command], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    variables = dict(word.split("=", 1) for word in command if "=" in word)
    if command[0] in ("train", "check"):
        read_recipe(variables.get("RECIPE", "micro_seq_balance"), shlex.split(variables.get("ARGS", "")))
    if command[0] == "eval":
        read_suite(variables["SUITE"], [word for word in shlex.split(variables.get("ARGS", "")) if "=" in word])


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_quick_start_runs(tmp_path, monkeypatch, capfd):
    """Its first training command, shortened, and then every command that reads runs or forecasts, on what that left."""
    monkeypatch.chdir(tmp_path)
    train = next(command for command in ADA if command[0] == "train")
    done = subprocess.run(
        [shutil.which("python") or "python", "-m", "ada", *train, *SHORT, "steps=1"],
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert "runs/micro_seq_balance/report.html shows it" in done.stdout
    assert "1 of 1 steps done" in (tmp_path / "runs/micro_seq_balance/report.html").read_text()
    shutil.copytree("runs/micro_seq_balance", "runs/micro_grpo_n4")
    for command in ADA:
        if command[0] in RUN:
            with pytest.raises(SystemExit) as ended:
                main(command)
            assert ended.value.code == 0, (command, capfd.readouterr().err)
    assert (tmp_path / "runs/comparison.html").exists() and (tmp_path / "comparison.html").exists() and (tmp_path / "draws.csv").exists()


@pytest.mark.slow
def test_the_site_is_built_without_a_warning_and_asks_nothing_of_the_network(tmp_path):
    pytest.importorskip("sphinx")
    build = ["-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html", "-d", str(tmp_path / "trees"), "docs", str(tmp_path / "site")]
    done = subprocess.run([shutil.which("python") or "python", *build], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    page = (tmp_path / "site" / "methods.html").read_text()
    assert "Methods" in page and 'src="http' not in page and 'rel="stylesheet" href="http' not in page
