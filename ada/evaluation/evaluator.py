"""Held-out accuracy: the engine and the rewards of training, with draws and a schedule of evaluation's own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ada.evaluation.passk import mean_pass_at_k
from ada.sampling.collector import Collector
from ada.sampling.schedules.uniform import Uniform
from ada.types import Prompt


def evaluate(collector: Collector, sets: Mapping[str, Sequence[Prompt]], samples: int, step: int) -> dict[str, float]:
    """`eval/<set>/avg@<k>` and `eval/<set>/pass@<k>` with k = samples. Collective.

    Every problem counts with all its k responses; one that is cut off, or that the reward function failed on, is not right.
    """
    metrics: dict[str, float] = {}
    for name, prompts in sets.items():
        pools, _ = collector.collect(f"evaluation-{name}-{step}", prompts, Uniform(draws=samples))
        rights = [pool.right for pool in pools]
        metrics[f"eval/{name}/avg@{samples}"] = sum(rights) / (samples * len(pools))
        metrics[f"eval/{name}/pass@{samples}"] = mean_pass_at_k(samples, rights, samples)
    return metrics
