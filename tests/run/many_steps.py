"""A run of the real parts, on a few prompts; prints after each step what the process holds: tensors, all objects, resident bytes.

python -m tests.run.many_steps STEPS OUTPUT
"""

from __future__ import annotations

import gc
import json
import sys
from pathlib import Path
from typing import Any

from ada.data.microworld.task import problems
from ada.recipe.validate import read_recipe
from ada.shutdown import StopRequest


def main(steps: int, output: Path) -> None:
    import psutil
    import torch

    from ada.trainer.distributed import start_distributed

    start_distributed()
    from ada import loop
    from ada.open_run import open_run

    rows = [{"id": p.id, "problem": p.prompt, "answer": p.answer} for p in problems("train")[:8]]
    (output / "few.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    few = f"{{name: jsonl, path: {output}/few.jsonl, id: id}}"
    keys = [
        f"steps={steps}",
        "batch.prompts_per_step=2",
        "batch.updates_per_step=1",
        "sampling.schedule.max_draws=4",
        "engine=transformers",
    ]
    keys += ["tracking.wandb=off", f"output={output}", f"data.train={few}", f"evaluation.sets={{heldout: {few}}}", "evaluation.samples=1"]
    held: list[tuple[int, int, int]] = []
    with open_run(read_recipe("micro_seq_balance", keys)[1], "many", StopRequest()) as run:
        keep, this = run.checkpoint_if_due, psutil.Process()

        def counting(*arguments: Any) -> None:
            keep(*arguments)
            gc.collect()
            objects = gc.get_objects()
            tensors = sum(issubclass(type(thing), torch.Tensor) for thing in objects)
            held.append((tensors, len(objects), this.memory_info().rss))
            del objects

        run.checkpoint_if_due = counting  # type: ignore[method-assign]
        loop.train(run)
    print(json.dumps(held))


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]))
