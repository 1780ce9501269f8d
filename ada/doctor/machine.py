"""What the machine has: GPUs, compilers, room, and what an earlier crash may have left."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

from ada.doctor import Finding

LEAST_FREE_GIB = 5.0


def gpus() -> Iterator[Finding]:
    import torch

    there = _listed()
    if torch.cuda.is_available():
        for number in range(torch.cuda.device_count()):
            free, total = torch.cuda.mem_get_info(number)
            what = f"GPU {number}: {torch.cuda.get_device_name(number)}, {free / 2**30:.0f} of {total / 2**30:.0f} GiB free"
            yield Finding(what, None if free > total / 2 else "another process holds its memory: nvidia-smi names it")
    elif there:
        reason = f"torch {torch.__version__} does not see them"
        yield Finding(f"{len(there)} GPUs by nvidia-smi, but {reason}", "a CPU torch: make install; a GPU one: the driver is too old")
    else:
        yield Finding("no GPU: everything runs on the CPU")


def _listed() -> list[str]:
    if shutil.which("nvidia-smi") is None:
        return []
    done = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, timeout=30, check=False)
    return [line for line in done.stdout.splitlines() if line.startswith("GPU")]


def tools(which: Callable[[str], str | None] = shutil.which) -> Iterator[Finding]:
    missing = [tool for tool in ("make", "g++") if which(tool) is None]
    yield Finding(f"{' and '.join(missing)} missing", f"apt-get install {' '.join(missing)}") if missing else Finding("make and g++")


def room(folder: Path = Path(), least_gib: float = LEAST_FREE_GIB) -> Iterator[Finding]:
    free = shutil.disk_usage(folder).free / 2**30
    fix = (
        None if free >= least_gib else f"less than {least_gib:g} GiB: a checkpoint takes 16 bytes a parameter; set output= to another disk"
    )
    yield Finding(f"{free:.0f} GiB free in {folder.resolve()}", fix)


def extension_locks(cache: Path | None = None) -> Iterator[Finding]:
    """A build of a torch extension that was killed leaves a lock for which every later build waits without a word."""
    folder = cache or Path(os.environ.get("TORCH_EXTENSIONS_DIR", Path.home() / ".cache" / "torch_extensions"))
    for lock in sorted(folder.glob("**/lock")):
        yield Finding(f"{lock} was left by a build that did not end", f"rm {lock}  (unless something is being compiled right now)")


def wandb_key() -> Iterator[Finding]:
    known = "WANDB_API_KEY" in os.environ or "api.wandb.ai" in _netrc()
    yield Finding("wandb: a key is there, runs are online" if known else "wandb: no key, runs are offline (`wandb login` changes that)")


def _netrc() -> str:
    path = Path(os.environ.get("NETRC", Path.home() / ".netrc"))
    return path.read_text(errors="replace") if path.is_file() else ""
