"""python -m benchmarks [key=value ...]: the speed of sampling and training beside the plain libraries', in this process, in one run.

The work is that of recipe micro_seq_balance; overrides change it. Ratios are ours / plain, medians with quartiles.
"""

from __future__ import annotations

import os
import sys
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "ERROR")

RECIPE = "micro_seq_balance"
GENERATION_PAIRS, UPDATE_PAIRS, OPEN_PROMPTS, ANSWERS = 9, 11, 10_000, 10_000


def main(overrides: list[str]) -> None:
    from ada.recipe.validate import read_recipe
    from ada.scratch import Scratch

    began = time.monotonic()
    with Scratch("bench") as scratch:
        _, recipe = read_recipe(RECIPE, [*overrides, f"output={scratch}", "tracking.wandb=off", "watch.hang_seconds=3600"])
        from ada.trainer.distributed import start_distributed

        start_distributed()  # before other imports make DeepSpeed guess what it runs on
        from ada.open_run import open_run
        from ada.shutdown import StopRequest
        from benchmarks.bookkeeping import microseconds_per_response
        from benchmarks.checkpoint import saving_against_plain, seconds_held_up
        from benchmarks.collecting import ways_to_collect
        from benchmarks.generation import collector_against_plain
        from benchmarks.memory import peak_in_model_sizes
        from benchmarks.packing import packed_against_padded
        from benchmarks.rewards import WORKERS, responses_per_second
        from benchmarks.update import actor_against, bare_deepspeed, plain_torch
        from benchmarks.weight_sync import sync_against_copy

        with open_run(recipe, "bench", StopRequest()) as run:
            run.sync()
            print("\nours / plain, median (quartiles)")
            say(collector_against_plain(run, GENERATION_PAIRS).line("collector / vLLM alone"))
            ways_to_collect(run, say)
            say(sync_against_copy(run, UPDATE_PAIRS).line("weight sync / copy of the bytes", unit="numbers/s"))
            saving = saving_against_plain(run, UPDATE_PAIRS)
            say(saving.line("checkpoint / torch.save and fsync", unit="bytes/s"))
            held_up, size = seconds_held_up(saving, run)
            say(f"{'checkpoint, training waits for':<34} {1000 * held_up:.0f} ms, for {size / 2**20:.1f} MiB of weights and moments")
            say(packed_against_padded(recipe, UPDATE_PAIRS).line("update, packed / padded"))
            for stage in (0, 1, 2, 3):
                say(actor_against(bare_deepspeed, recipe, stage, UPDATE_PAIRS).line(f"actor, stage {stage} / bare DeepSpeed"))
            for stage in (0, 3):
                say(actor_against(plain_torch, recipe, stage, UPDATE_PAIRS).line(f"actor, stage {stage} / torch alone"))
            for stage, ranks in ((0, 1), (3, 1), (3, 2)):
                peak, what = peak_in_model_sizes(stage, ranks), f"stage {stage}, {ranks} rank(s), peak host memory"
                say(f"{what:<34} loading {peak.loading:.2f}, training {peak.training:.1f} times the {peak.mib:.0f} MiB of the weights")
            say(f"{f'collector, {OPEN_PROMPTS:,} open prompts':<34} {microseconds_per_response(OPEN_PROMPTS):.0f} µs a response")
        say(
            f"{f'rewards, {ANSWERS:,} mathematical answers':<34} {responses_per_second(ANSWERS):,.0f} responses a second, {WORKERS} workers"
        )
    say(f"\n{time.monotonic() - began:.0f} s in all")


def say(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
