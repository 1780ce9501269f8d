"""Pools that outlive a step, against those that do not: more and more prompts open beside those that a step takes."""

from __future__ import annotations

from ada.reproduce.experiment import Experiment, Method

OPEN = (2.0, 3.0)  # beside the recipe's own 1.5

EXPERIMENT = Experiment(
    "streaming",
    "Streaming pools on the micro-world",
    (
        Method("Seq-balance", "micro_seq_balance"),
        Method("streaming 1.5", "micro_seq_balance_streaming"),
        *(Method(f"streaming {open:g}", "micro_seq_balance_streaming", overrides=(f"sampling.streaming.open={open}",)) for open in OPEN),
    ),
    seeds=(0, 1, 2, 3),
    budget=1800.0,
    baselines=("Seq-balance",),
    columns={
        "prompts left open": "streaming/open",
        "staleness of trained tokens (steps)": "streaming/staleness_mean",
        "share of stale tokens": "streaming/stale_token_fraction",
        "prompts dropped a step": "streaming/dropped",
    },
)
