"""Metrics that have a limit of their own, whatever the run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from ada.report.checks.finding import Finding, last_tenth, level
from ada.report.curves import is_number, mean
from ada.report.record import Row, RunRecord


@dataclass(frozen=True)
class Limit:
    title: str
    metric: str
    warn: float
    bad: float
    advice: str
    form: Callable[[float], str] = lambda share: f"{100 * share:.3g} %"
    most: bool = False  # the largest of the whole run is looked at, instead of the last tenth's mean


LIMITS = (
    Limit(
        "Prompts without a gradient",
        "signal/zero_gradient_fraction",
        0.5,
        0.8,
        "Most draws teach nothing. Draw adaptively (sampling.schedule: seq with exit: balance), raise max_draws, or choose prompts "
        "nearer to a pass rate of one half (data.selection).",
    ),
    Limit(
        "Prompts always answered right",
        "sampling/all_right_fraction",
        0.5,
        0.75,
        "The problems have become too easy: bring harder ones, or let data.selection skip what is solved.",
    ),
    Limit(
        "Prompts never answered right",
        "sampling/all_wrong_fraction",
        0.5,
        0.75,
        "The problems are too hard, or right answers are not recognised: read the wrong responses below, then raise "
        "sampling.schedule.max_draws, bring easier problems, or mend the reward function.",
    ),
    Limit(
        "Responses cut off",
        "completions/clipped_fraction",
        0.05,
        0.2,
        "A cut-off response counts as wrong, whatever it says, so length is punished. Raise generation.max_response_tokens, and see "
        "below whether the responses run on without an end.",
    ),
    Limit(
        "Tokens whose ratio is clipped",
        "train/clip_fraction",
        0.1,
        0.3,
        "The policy moves far within one step: lower trainer.learning_rate or batch.updates_per_step.",
    ),
    Limit(
        "Distance from the reference model (KL)",
        "train/kl",
        0.5,
        5.0,
        "The policy has gone far from where it began: lower trainer.learning_rate, or give the KL term more weight.",
        "{:.3g} nats".format,
    ),
    Limit(
        "Updates skipped",
        "train/skipped_updates",
        0.0,
        0.5,
        "No token of an update had a gradient, so nothing moved: the step had too few prompts with right and wrong answers. "
        "Raise batch.prompts_per_step, or draw adaptively.",
        "{:.2g} a step".format,
    ),
)


def limit_checks(run: RunRecord) -> Iterator[Finding]:
    for limit in (*LIMITS, *_mismatch(run)):
        value = _largest(run.steps, limit.metric) if limit.most else mean(last_tenth(run), limit.metric)
        if value is not None:
            what = "at most" if limit.most else "in the mean of the last tenth of the steps"
            healthy = f"up to {limit.form(limit.warn)}; above {limit.form(limit.bad)} it is serious"
            yield Finding(
                limit.title, level(value, limit.warn, limit.bad), f"{limit.form(value)}, {what}", healthy, limit.advice, limit.metric
            )
    yield from _without_verdict(run)


def _mismatch(run: RunRecord) -> tuple[Limit, Limit]:
    """Sampler and trainer compute the same law with different kernels: in float32 the same numbers, in bfloat16 nearly."""
    exact = run.key("model.dtype") == "float32"
    nats = "{:.2g} nats".format
    warn, bad = (1e-5, 1e-3) if exact else (0.02, 0.1)
    tolerance = run.key("sync.tolerance") or (1e-4 if exact else 1.0)
    return (
        Limit(
            "Sampler and trainer disagree on log-probs",
            "mismatch/logprob_abs_mean",
            warn,
            bad,
            "What is trained is not what was sampled. Look at the sync below first; then at temperature, top_p and top_k, at chat "
            "template and end tokens, and at the engine's precision.",
            nats,
        ),
        Limit(
            "Weights in the engine after a sync",
            "mismatch/sync_logprob_abs_max",
            tolerance / 2,
            tolerance,
            "The engine's weights are not the actor's. Do not trust the run from this step on.",
            nats,
            most=True,
        ),
    )


def _without_verdict(run: RunRecord) -> Iterator[Finding]:
    rows = [row for row in run.trained if row.get("sampling/responses")]
    drawn = sum(row["sampling/responses"] for row in rows)
    unknown = sum((row.get("reward/timeouts") or 0) + (row.get("reward/errors") or 0) for row in rows)
    if drawn:
        yield Finding(
            "Responses without a verdict",
            level(unknown / drawn, 0.001, 0.02),
            f"{unknown:,} of {drawn:,} ({100 * unknown / drawn:.2g} %) over the run",
            "up to 0.1 %; above 2 % it is serious",
            "They are left out of every mean and group, so what is hard to grade is not learnt. rewards.log names the causes; a "
            "time-out may need a larger reward limit, an error a mended reward function.",
            "reward/timeouts",
        )


def _largest(rows: Sequence[Row], metric: str) -> float | None:
    return max((row[metric] for row in rows if is_number(row.get(metric))), default=None)
