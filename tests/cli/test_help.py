"""What a newcomer meets: the helps, their examples, and messages about what was misspelt."""

from __future__ import annotations

import shlex

import pytest

import ada.cli
from ada.cli import main
from ada.cli.examples import EXAMPLES
from ada.evaluation.suite import read_suite
from ada.recipe.validate import read_recipe


def run(capsys, *arguments):
    with pytest.raises(SystemExit) as ended:
        main(list(arguments))
    return ended.value.code or 0, *capsys.readouterr()


def test_the_first_help_names_every_command_and_the_first_steps(capsys):
    code, said, _ = run(capsys, "--help")
    assert code == 0 and "first steps:" in said
    listed = [line.strip() for line in said.splitlines() if line.startswith("    ")]
    assert not [command for command in EXAMPLES if not any(line.startswith(f"{command} ") or line == command for line in listed)]


@pytest.mark.parametrize("command", EXAMPLES)
def test_every_help_ends_with_its_examples_and_fits_a_terminal(command, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    code, said, _ = run(capsys, *command.split(), "--help")
    assert code == 0
    assert [line.strip() for line in said.split("examples:\n")[1].splitlines()] == list(EXAMPLES[command])
    assert max(map(len, said.splitlines())) <= 100


@pytest.mark.parametrize("example", [example for of in EXAMPLES.values() for example in of])
def test_every_example_is_taken(example, monkeypatch):
    taken = {}

    class Command:
        def __getattr__(self, name):
            return lambda *args, **given: taken.update(given) or 0

    monkeypatch.setattr(ada.cli, "import_module", lambda name: Command())
    command, *_ = words = shlex.split(example)[1:]
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 0
    if taken.get("name") and command in ("train", "check", "prepare", "plan", "simulate", "gradients"):
        read_recipe(taken["name"], taken["overrides"])
    if command == "eval":
        read_suite(taken["suite"], taken["overrides"])


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (("train", "micro", "--steps", "5"), "steps=5"),
        (("train", "micro", "--steps=5", "--learning-rate", "1e-5"), "steps=5 trainer.learning_rate=1e-5"),
        (("check", "micro", "--batch.prompts_per_step", "8"), "batch.prompts_per_step=8"),
        (("eval", "microworld", "micro", "--samples", "8"), "samples=8"),
    ],
)
def test_a_key_written_as_an_option_is_told_as_a_key(arguments, meant, capsys):
    code, _, said = run(capsys, *arguments)
    assert code == 2 and said.endswith(f"(keys are given as key=value: {meant})\n")


def test_an_option_that_is_no_key_gets_no_guess(capsys):
    assert run(capsys, "train", "micro", "--colour", "blue")[2].endswith(
        "unrecognized arguments: --colour blue (keys are given as key=value)\n"
    )
    assert run(capsys, "runs", "--steps", "5")[2].endswith("unrecognized arguments: --steps\n")


def test_a_misspelt_recipe_is_answered_by_the_nearest_not_by_all(capsys):
    code, _, said = run(capsys, "plan", "qwen15b_seq_balanse", "--pass-rates", "beta(1,1)")
    assert code == 2 and "Did you mean 'qwen15b_seq_balance' or " in said and "`ada recipes` lists all" in said
    assert len(said.splitlines()) == 1 and "micro_greso" not in said


def test_recipes_are_listed_by_words_a_line_each(capsys):
    code, said, _ = run(capsys, "recipes", "QWEN15B", "est")
    names = [line.split()[0] for line in said.splitlines()]
    assert code == 0 and names == ["qwen15b_est_ema", "qwen15b_est_value_net", "qwen15b_hard_est_ema", "qwen15b_hard_est_value_net"]
    assert said.splitlines()[0].split(maxsplit=1)[1] == "Reinforce-Ada-Est with Ada-EMA on Qwen2.5-Math-1.5B"
    everything = run(capsys, "recipes")[1].splitlines()
    assert len(everything) > 80 and all(len(line.split()) > 2 for line in everything)
    code, _, said = run(capsys, "recipes", "no such thing")
    assert code == 2 and "none of" in said
