"""Metrics that are compared with what they were earlier in the same run."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from ada.report.checks.finding import Finding, first_tenth, last_tenth, level, long_enough, tenth
from ada.report.curves import is_number, mean
from ada.report.record import RunRecord


def trend_checks(run: RunRecord) -> Iterator[Finding]:
    yield from _gradient_spikes(run)
    yield from _missing_losses(run)
    yield from _held_out(run)
    if long_enough(run):
        yield from _entropy(run)
        yield from _mismatch_drift(run)
        yield from _reward(run)
        yield from _speed(run)


def _entropy(run: RunRecord) -> Iterator[Finding]:
    before, after = mean(first_tenth(run), "train/entropy"), mean(last_tenth(run), "train/entropy")
    if before is None or after is None or before <= 0:
        return
    kept = after / before
    state = level(-kept, -0.3, -0.1) if kept < 1 else level(kept, 2, 4)
    yield Finding(
        "Entropy of the policy",
        state,
        f"{after:.3g} nats, {100 * kept:.0f} % of the {before:.3g} it began with",
        "30 % to 200 % of where it began; below 10 % or above 400 % it is serious",
        "A fall means that responses grow alike and exploration ends: raise loss.clip_high or trainer.entropy_coefficient, lower the "
        "learning rate. A rise means that the policy dissolves: lower the learning rate or the entropy coefficient.",
        "train/entropy",
    )


def _mismatch_drift(run: RunRecord) -> Iterator[Finding]:
    before, after = mean(first_tenth(run), "mismatch/logprob_abs_mean"), mean(last_tenth(run), "mismatch/logprob_abs_mean")
    if not before or after is None:
        return
    growth = after / before
    yield Finding(
        "Drift of sampler and trainer apart",
        level(growth, 3, 10) if after > 1e-6 else "good",
        f"{after:.2g} nats, {growth:.1f} times the {before:.2g} of the first tenth",
        "up to 3 times; above 10 times it is serious; below 1e-6 nats never",
        "A steady rise often comes before a collapse: lower the learning rate, compute the engine in a higher precision, or correct "
        "for the mismatch in the loss.",
        "mismatch/logprob_abs_mean",
    )


def _reward(run: RunRecord) -> Iterator[Finding]:
    """The first draws of each prompt: an adaptive sampler moves the mean of whole pools."""
    metric, width = "reward/first_n", tenth(run)
    means = [mean(run.trained[i : i + width], metric) for i in range(0, len(run.trained) - width + 1, width)]
    known = [value for value in means if value is not None]
    last = mean(last_tenth(run), metric)
    if not known or last is None or max(known) <= 0:
        return
    lost = 1 - last / max(known)
    yield Finding(
        "Reward, beside its best",
        level(lost, 0.15, 0.4),
        f"{last:.3f} in the last tenth, {max(known):.3f} in the best",
        "at least 85 % of the best; below 60 % it is serious",
        "The run got worse after its best: take an earlier checkpoint, and look at entropy, mismatch and gradient norm around there.",
        metric,
    )


def _speed(run: RunRecord) -> Iterator[Finding]:
    metric = "throughput/rollout_tokens_per_second"
    before, after = mean(first_tenth(run), metric), mean(last_tenth(run), metric)
    if not before or after is None:
        return
    lost = 1 - after / before
    yield Finding(
        "Speed of drawing",
        level(lost, 0.5, 1.0),
        f"{after:,.0f} tokens/s, {100 * after / before:.0f} % of the first tenth",
        "at least 50 % of the first tenth",
        "Fewer draws at once at the end of a step, longer responses, or another program on the machine: compare time/rollout with "
        "completions/mean_length.",
        metric,
    )


def _gradient_spikes(run: RunRecord) -> Iterator[Finding]:
    norms = [row["train/grad_norm"] for row in run.trained if is_number(row.get("train/grad_norm"))]
    if len(norms) < 5 or median(norms) <= 0:
        return
    highest = max(norms) / median(norms)
    yield Finding(
        "Spikes of the gradient norm",
        level(highest, 10, 100),
        f"the largest is {max(norms):.3g}, {highest:.1f} times the median of {median(norms):.3g}",
        "up to 10 times the median; above 100 times it is serious",
        "Clipping (trainer.max_grad_norm) bounds the update. If they come often: lower the learning rate, or bound the objective's "
        "weight by a higher floor.",
        "train/grad_norm",
    )


def _missing_losses(run: RunRecord) -> Iterator[Finding]:
    rows = [row for row in run.trained if row.get("train/tokens") and "train/loss" in row]
    if rows:
        missing = [row["step"] for row in rows if row["train/loss"] is None]
        yield Finding(
            "Loss is a number",
            "bad" if missing else "good",
            f"not at {len(missing)} steps, first at step {missing[0]}" if missing else f"at all {len(rows)} steps with trained tokens",
            "at every step that trained on tokens",
            "The loss was NaN or infinite: go back to a checkpoint before that step and lower the learning rate.",
            "train/loss",
        )


def _held_out(run: RunRecord) -> Iterator[Finding]:
    names = [name for name in run.steps[0] if name.startswith("eval/") and "/avg@" in name] if run.steps else []
    for name in names:
        values = [row[name] for row in run.steps if is_number(row.get(name))]
        if len(values) < 2:
            continue
        yield Finding(
            f"Held-out accuracy, {name.removeprefix('eval/')}",
            level(values[0] - values[-1], 0.0, 0.05),
            f"{values[-1]:.3f}, {values[-1] - values[0]:+.3f} since before the first step",
            "not below where it began; 0.05 below it is serious",
            "The policy got worse at what it is not trained on: stop earlier, lower the learning rate, or bring more different problems.",
            name,
        )
