"""The command `ada`. Light on purpose: what a command needs is imported when it runs, since reward workers import this too."""

from __future__ import annotations

import argparse
import os
import sys
from importlib import import_module
from pathlib import Path
from typing import TypeAlias

from ada.cli.examples import FIRST_STEPS, epilog
from ada.reproduce.experiments import NAMES

Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"

STEPS = "simulate steps"  # one command of two words


def main(arguments: list[str] | None = None) -> None:
    parser = _parser()
    given_arguments = sys.argv[1:] if arguments is None else arguments
    if given_arguments[:2] == STEPS.split():
        given_arguments = [STEPS, *given_arguments[2:]]
    known, rest = parser.parse_known_args(given_arguments)
    given = vars(known)
    if wrong := [text for text in rest if text.startswith("-") or "=" not in text or "overrides" not in given]:
        from ada.cli.hints import hints

        meant = hints(known.command, wrong, given_arguments) if "overrides" in given else ""
        parser.error(f"unrecognized arguments: {' '.join(wrong)}{meant}")
    if rest:
        given["overrides"] += rest  # a key=value may stand behind an option too
    # One thread computes the same whatever the batch, and leaves the other cores to the reward workers; set it before torch starts.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "ERROR")
    command = given.pop("command")
    command = command.replace(" ", "_")
    sys.exit(getattr(import_module(f"ada.cli.{command}"), command)(**given))


def _parser() -> argparse.ArgumentParser:
    """Commands in the order in which they are needed."""
    parser = argparse.ArgumentParser(
        prog="ada",
        description="Reinforcement learning on verifiable rewards.",
        epilog=FIRST_STEPS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND", title="commands")
    _command(commands, "doctor", "check the installation", "Versions, GPUs, tools, the engine and two tiny steps; a fix for each fault.")
    command = _command(commands, "recipes", "list the recipes, a line each")
    command.add_argument("words", metavar="WORD", nargs="*", help="only those whose line has every WORD, for example: micro est")
    _recipe_command(commands, "check", "check a recipe, and run two shrunk steps of it", "About a minute, on the CPU, without network.")
    _recipe_command(commands, "train", "train a policy as a recipe says")
    command = _command(commands, "report", "make a run's page anew, or one that compares several")
    command.add_argument("runs", metavar="RUN", nargs="+", help="a run's folder, or its name in runs/; it need not have ended")
    command.add_argument("--output", metavar="FILE", help="default: RUN/report.html; of several, comparison.html beside the first")
    command = _command(commands, "runs", "list the runs of a folder with their key figures")
    command.add_argument("folder", metavar="FOLDER", nargs="?", default="runs", help="where runs are written; default: runs")
    _evaluation_commands(commands)
    _prepare_options(
        _recipe_command(
            commands, "prepare", "find the problems of a data set that are worth training on", "By the base model's pass rates."
        )
    )
    _forecast_commands(commands)
    _reproduce_options(commands)
    command = _command(
        commands, "dashboard", "make a view of a project on wandb", "A panel for every metric, in sections; needs an API key."
    )
    command.add_argument("--project", metavar="NAME", default="ada", help="tracking.project of its runs; default: ada")
    command.add_argument("--entity", metavar="NAME", help="user or team on wandb; default: the account's")
    command.add_argument("--name", metavar="TEXT", default="ada", help="what the view is called; each call makes a new one; default: ada")
    return parser


def _recipe_command(commands: Commands, name: str, does: str, more: str = "") -> argparse.ArgumentParser:
    command = _command(commands, name, does, more)
    command.add_argument("name", metavar="RECIPE", help="a name that `ada recipes` lists, or the path of a YAML file")
    command.add_argument("overrides", metavar="key=value", nargs="*", help="recipe keys to change; docs/recipe-keys.md has all of them")
    return command


def _steps_command(commands: Commands) -> None:
    command = _command(
        commands,
        STEPS,
        "step times, tokens and idle GPUs, before there are GPUs",
        "Of the usual samplers, and a recipe's; without options, at the paper's proportions.\nSee docs/generation-cost.md.",
    )
    command.add_argument("name", metavar="RECIPE", nargs="?", help="a recipe whose sampler is looked at too; default: none")
    command.add_argument("overrides", metavar="key=value", nargs="*", help="recipe keys to change, for example sampling.in_flight=24")
    command.add_argument("--gpus", metavar="N,N,...", default="8", help="ranks of the job, several for several tables; default 8")
    command.add_argument("--steps", metavar="N", type=int, help="steps to average over; default: those of 4,096 prompts, at least 1")
    command.add_argument("--samplers", metavar="WORD,...", help="only those whose names have one of these words in them, beside GRPO-n4")
    for option, placeholder, text in (
        ("--pass-rates", "LAW", "of the prompts, as for `ada plan`"),
        ("--lengths", "LAW", "tokens of a response: lognormal(median,sigma), or a file with one number a line"),
        ("--decode", "LAW", "seconds of a decoding step with b draws running: 0.02+0.0001b, or points such as 1:0.02,64:0.03"),
    ):
        command.add_argument(option, metavar=placeholder, help=text)
    for option, kind, text in (
        ("--longest", int, "most tokens of a response"),
        ("--prompts", int, "of a step, for each GPU"),
        ("--slots", int, "draws that an engine decodes together"),
        ("--belief-draws", int, "earlier responses behind the belief about each prompt"),
        ("--start-step-seconds", float, "of a decoding step in which draws begin, however many"),
        ("--start-seconds", float, "of a draw that begins, beside it: its prompt's pass"),
        ("--reread-seconds", float, "of each token of a draw that goes on after an update"),
        ("--verdict-seconds", float, "from a response to its verdict"),
        ("--fixed-seconds", float, "of a step, whatever is drawn and trained on"),
        ("--token-seconds", float, "of the update, for each response token trained on, of one GPU"),
    ):
        command.add_argument(option, metavar="N" if kind is int else "S", type=kind, help=text)
    command.add_argument("--json", action="store_true", help="figures for programs, all inputs among them")
    command.add_argument("--plot", metavar="FILE", help="figure of step time and idle share against GPUs: .png, .svg, .pdf")


def _command(commands: Commands, name: str, does: str, more: str = "") -> argparse.ArgumentParser:
    return commands.add_parser(
        name,
        help=does,
        description=f"{does[0].upper()}{does[1:]}.\n{more}".rstrip(),
        epilog=epilog(name),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )


def _evaluation_commands(commands: Commands) -> None:
    suites = sorted(path.stem for path in (Path(__file__).parents[2] / "suites").glob("*.yaml"))
    command = _command(commands, "eval", "avg@k and pass@k of a model, with intervals", "One that was stopped or killed goes on.")
    command.add_argument("name", metavar="MODEL", help="a Hugging Face folder or hub id, a run (its last checkpoint), or microworld")
    command.add_argument("suite", metavar="SUITE", help=f"the path of a YAML file, or one of {', '.join(suites)}")
    command.add_argument("overrides", metavar="key=value", nargs="*", help="suite keys to change, for example samples=8")
    command.add_argument("--output", metavar="FOLDER", help="default: evals/MODEL-SUITE")
    command.add_argument("--against", metavar="FOLDER", help="an earlier evaluation, to print the paired difference from it")
    command = _command(commands, "compare", "the paired difference of two evaluations, with its interval")
    command.add_argument("first", metavar="FIRST", help="a folder that `ada eval` wrote")
    command.add_argument("second", metavar="SECOND", help="another one; differences are SECOND minus FIRST")


def _prepare_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("--output", metavar="FOLDER", required=True, help="where problems.parquet and the report go; one begun goes on")
    command.add_argument(
        "--keep", metavar="RULE", default="0 < p <= 0.375", help="pass rates to keep: '0 < p <= 0.375' (default), '1..2 of 16'"
    )
    command.add_argument("--draws", metavar="K", type=int, default=16, help="responses drawn for each problem; default 16")


def _forecast_commands(commands: Commands) -> None:
    law = (
        "beta(a,b), a file with one pass rate a line (a number, or JSON with the key pass_rate), the problems.parquet of `ada prepare`, "
        "or a run: its folder, or its name in runs/"
    )
    command = _recipe_command(commands, "plan", "what a recipe's sampler, and the usual ones, cost and yield", "At the pass rates named.")
    command.add_argument("--pass-rates", metavar="LAW", required=True, help=law)
    command.add_argument("--mean-tokens", metavar="L", type=float, help="tokens of a response; default: the run's, else the recipe's most")
    for option in ("generation", "update"):
        command.add_argument(
            f"--{option}-seconds", metavar="S", dest=option, type=float, help="of a GRPO-n4 step; default: the run's, else the paper's"
        )
    command = _recipe_command(commands, "simulate", "draws and zero gradient of samplers, by pass rate")
    command.add_argument(
        "--pass-rates", metavar="LAW", default="beta(1,1)", help=f"of a step's other prompts, which est shares with: {law}"
    )
    command.add_argument("--output", metavar="FILE", help="CSV to write, pass rates 0 to 1 by 0.01")
    command.add_argument("--plot", metavar="FILE", help="figure to draw, as its ending says: .png, .svg, .pdf")
    _steps_command(commands)
    command = _recipe_command(commands, "gradients", "what a recipe's gradient optimises, and its noise", "Pass rate by pass rate.")
    command.add_argument(
        "--pass-rates", metavar="LAW", help="of a step's prompts: beta(a,b), or a file with one a line; default: those shown, alike"
    )


def _reproduce_options(commands: Commands) -> None:
    command = _command(commands, "reproduce", "compare methods on the micro-world, over seeds", "At equal updates, tokens and CPU seconds.")
    command.add_argument(
        "experiment",
        metavar="EXPERIMENT",
        nargs="?",
        default="paper",
        choices=NAMES,
        help="paper (all its methods, 5 seeds: about an hour on two cores; the default), quick (its four main methods, 2 seeds: ten "
        "minutes), replay (three methods with and without it), replay_sweep (how much to replay, how old) or streaming",
    )
    command.add_argument("--seeds", metavar="N", type=int, help="how many, from the experiment's first; default its own")
    command.add_argument("--minutes", metavar="M", type=float, help="start no run that would end later; default the experiment's")
    command.add_argument("--jobs", metavar="J", type=int, help="runs at once, of one thread each; default: one per core")
    command.add_argument("--output", metavar="FOLDER", default="runs", help="what is finished there is not run again; default runs")
    command.add_argument("--page", metavar="FILE", help="the Markdown page; default EXPERIMENT.md beside the runs")
