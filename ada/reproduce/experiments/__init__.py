"""The experiments, each one file, found by its name."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from ada.reproduce.experiment import Experiment

NAMES = tuple(sorted(module.name for module in iter_modules(__path__)))


def experiment(name: str) -> Experiment:
    found: Experiment = import_module(f"{__name__}.{name}").EXPERIMENT
    return found
