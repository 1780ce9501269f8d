"""Saves checkpoints onto a disk of 3 MiB until it is full; run in a mount namespace of its own. Prints what became of each, as JSON."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import torch

from ada.checkpoint.errors import CheckpointError
from ada.checkpoint.folder import fault_of, name_of, steps_in
from ada.checkpoint.save import save
from ada.ranks import Ranks


class Actor:
    """Its state is of three layers and its export one file, 1 MiB in all."""

    updates = 7

    def state(self, keep):
        for number in range(3):
            if keep(number):
                yield number, {f"layer{number}/master": torch.full((2**16,), float(number))}

    def save_hf(self, folder):
        (Path(folder) / "model.safetensors").write_bytes(bytes(2**18))


def main(disk: Path) -> None:
    seen = []
    for step in range(1, 5):
        try:
            save(disk, step, Actor(), Ranks(), {"step": step}, {}, "seed: 0\n", lambda: None)  # type: ignore[arg-type]
            seen.append("saved")
        except CheckpointError as error:
            seen.append(str(error))
    whole = [step for step in steps_in(disk) if fault_of(disk / name_of(step)) is None]
    print(json.dumps({"seen": seen, "whole": whole, "there": sorted(path.name for path in disk.iterdir())}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
