"""The command `ada`. Light on purpose: what a command needs is imported when it runs, since reward workers import this too."""

from __future__ import annotations

import argparse
import os
import sys


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="ada", description="Reinforcement learning on verifiable rewards.", allow_abbrev=False)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, help_text in (
        ("train", "train a policy as a recipe says"),
        ("check", "check a recipe, then run two steps of it shrunk, on the CPU"),
    ):
        command = commands.add_parser(name, help=help_text, description=help_text, allow_abbrev=False)
        command.add_argument("recipe", metavar="RECIPE", help="a name in recipes/ or the path of a YAML file")
        command.add_argument(
            "overrides", metavar="key=value", nargs="*", help="recipe keys to change, for example batch.prompts_per_step=16"
        )
    given = parser.parse_args(arguments)
    # One thread computes the same whatever the batch, and leaves the other cores to the reward workers; set it before torch starts.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "ERROR")
    if given.command == "train":
        from ada.cli.train import train as command_function
    else:
        from ada.cli.check import check as command_function
    sys.exit(command_function(given.recipe, given.overrides))
