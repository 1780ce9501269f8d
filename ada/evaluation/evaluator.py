"""Held-out accuracy, during training and by itself: uniform draws under evaluation's own law, with seeds of their own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ada.engine.generation import Generation
from ada.evaluation.passk import mean_pass_at_k
from ada.evaluation.row import TRUNCATED, UNKNOWN, Row
from ada.sampling.collector import Collector
from ada.sampling.schedules.uniform import Uniform
from ada.types import Pool, Prompt


def draw_rows(
    collector: Collector,
    prompts: Sequence[Prompt],
    samples: int,
    law: Generation,
    name: str,
    *,
    texts: int = 0,
    keep: Callable[[Row], None] = lambda row: None,
) -> list[Row]:
    """A row for each prompt, in their order, the same on every rank. Collective; the ranks share the prompts.

    Each problem is drawn `samples` times, whatever becomes of a draw. `name` tells these draws' seeds from all others. `keep` is shown
    each row when it is complete, on the rank that drew it; `texts`: responses of each problem whose text its row holds.
    """
    own: list[Row] = []

    def closed(pool: Pool) -> None:
        own.append(Row.of(pool, texts))
        pool.attempts.clear()  # the tokens of thousands of responses need not travel between ranks
        keep(own[-1])

    with collector.engine.drawing(law):
        collector.collect(name, prompts, Uniform(draws=samples), closed=closed)
    rows = {row.id: row for share in collector.ranks.gather(own) for row in share}
    return [rows[prompt.id] for prompt in prompts]


def evaluate(
    collector: Collector, sets: Mapping[str, Sequence[Prompt]], samples: int, law: Generation, step: int
) -> dict[str, float | None]:
    """The metrics `eval/<set>/...` of a training step. Collective.

    Every problem counts with all its k responses; one that is cut off, or that the reward function failed on, is not right.
    """
    if not sets:
        return {}
    found = iter(draw_rows(collector, [prompt for prompts in sets.values() for prompt in prompts], samples, law, f"evaluation-{step}"))
    metrics: dict[str, float | None] = {}
    for name, prompts in sets.items():
        rows = [next(found) for _ in prompts]
        rights, verdicts = [row.right for row in rows], "".join(row.verdicts for row in rows)
        metrics[f"eval/{name}/avg@{samples}"] = sum(rights) / len(verdicts)
        metrics[f"eval/{name}/pass@{samples}"] = mean_pass_at_k(samples, rights, samples)
        metrics[f"eval/{name}/truncated_fraction"] = verdicts.count(TRUNCATED) / len(verdicts)
        metrics[f"eval/{name}/unknown_fraction"] = verdicts.count(UNKNOWN) / len(verdicts)
    return metrics
