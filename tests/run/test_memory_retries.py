"""Every time that memory runs out in a run is told in its numbers, also after its last update."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

from ada.observability.closing import closing_lines
from ada.recipe.validate import read_recipe
from tests.trainer.small_memory import too_small_for

SMALL = ["batch.prompts_per_step=4", "sampling.schedule.max_draws=4", "engine=transformers", "tracking.wandb=off", "steps=1"]


@pytest.mark.slow
def test_memory_that_runs_out_in_the_sync_after_the_last_update_is_counted(tmp_path: Path) -> None:
    from ada.loop import train
    from ada.open_run import open_run
    from ada.shutdown import StopRequest

    _, recipe = read_recipe("micro_seq_balance", [*SMALL, f"output={tmp_path}"])
    recipe = dataclasses.replace(recipe, evaluation=dataclasses.replace(recipe.evaluation, sets={}))
    with open_run(recipe, "run", StopRequest()) as run:
        sync, failed_before_and_after = run.sync, []

        def in_small_memory():
            with too_small_for(run.actor.engine.module, 16, "without gradient") as failed:
                found = sync()
            failed_before_and_after.append(len(failed))
            run.actor.budget.slots = recipe.trainer.micro_batch_tokens
            return found

        run.sync = in_small_memory
        train(run)
        summary = run.summary(None)
    before, after = failed_before_and_after
    start, step = (json.loads(line) for line in (run.path / "metrics.jsonl").read_text().splitlines())
    assert (start["train/memory_retries"], step["train/memory_retries"]) == (before, after) and min(before, after) > 0
    assert step["total/memory_retries"] == summary["memory_retries"] == before + after
    assert (run.path / "log.txt").read_text().count("out of memory: this is repeated") == before + after
    assert f"Memory ran out {before + after} time(s)" in "\n".join(closing_lines(summary))
