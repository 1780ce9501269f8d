"""From a step's carriers to its metrics. Pure: names and meanings as in docs/metrics.md."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ada.sampling.collection import Cost
from ada.trainer.statistics import UpdateStats
from ada.types import Attempt, Group, Pool
from ada.types import Sequence as TokenSequence

Metrics = dict[str, float | None]


def sampling_metrics(pools: Sequence[Pool], cost: Cost, first_n: int | None) -> Metrics:
    """`first_n`: draws that `reward/first_n` looks at, so that it compares between samplers; null: those that every pool has."""
    first_n = first_n or min(pool.drawn for pool in pools)
    attempts = [attempt for pool in pools for attempt in pool.attempts]
    lengths = [len(attempt.response.token_ids) for attempt in attempts]
    failures = Counter(attempt.failure for attempt in attempts if attempt.failure is not None)
    timeouts = failures.pop("timeout", 0)
    seconds = max(cost.seconds, 1e-9)
    believed = [abs(pool.belief.mean - pool.pass_rate) for pool in pools if pool.belief and pool.right + pool.wrong]
    return {
        "reward/mean": _mean([pool.mean_reward for pool in pools if pool.right + pool.wrong]),
        "reward/first_n": _mean([a.reward for pool in pools for a in pool.attempts[:first_n] if a.judged]),
        "reward/timeouts": timeouts,
        "reward/errors": failures.total(),
        "reward/unknown_fraction": _mean([attempt.failure is not None for attempt in attempts]),
        **_parts(attempts),
        "sampling/prompts": len(pools),
        "sampling/responses": len(attempts),
        "sampling/responses_per_prompt": len(attempts) / len(pools),
        "sampling/rounds": _mean([pool.rounds for pool in pools]),
        "sampling/resolved_fraction": _mean([pool.outcome == "resolved" for pool in pools]),
        "sampling/all_right_fraction": _mean([pool.right > 0 and pool.wrong == 0 for pool in pools]),
        "sampling/all_wrong_fraction": _mean([pool.wrong > 0 and pool.right == 0 for pool in pools]),
        "sampling/surplus_draws": cost.surplus,
        "sampling/aborted_tokens": cost.aborted_tokens,
        "sampling/belief_error": _mean(believed),
        "completions/mean_length": _mean(lengths),
        "completions/clipped_fraction": _mean([attempt.response.finish_reason == "length" for attempt in attempts]),
        "time/rollout": cost.seconds,
        "time/reward": cost.reward_seconds,
        "throughput/rollout_tokens_per_second": cost.generated_tokens / seconds,
    }


def _parts(attempts: Sequence[Attempt]) -> Metrics:
    """The mean of each named part of the reward. A cut-off response that no function was asked about has none: all of its parts are 0."""
    names = sorted({name for attempt in attempts for name in attempt.parts})
    unasked = [0.0 for a in attempts if a.judged and not a.parts and a.response.finish_reason == "length"]
    return {f"reward/parts/{name}": _mean([a.parts[name] for a in attempts if name in a.parts] + unasked) for name in names}


def signal_metrics(groups: int, sequences: Sequence[TokenSequence]) -> Metrics:
    """`groups`: B, those that a step asks for. A prompt gives no gradient where none of its trained responses has any credit.

    So DAPO, which opens more prompts than B, has 0 unless its cap left it short: what it opened in vain shows in sampling/prompts.
    """
    informative = {sequence.group for sequence in sequences if sequence.advantage}
    return {"signal/zero_gradient_fraction": max(0.0, 1 - len(informative) / groups)}


def replay_metrics(replayed: Sequence[Group]) -> Metrics:
    """Of the groups of earlier steps that this one trained on again; nothing where there were none."""
    if not replayed:
        return {}
    return {
        "replay/groups": len(replayed),
        "replay/age_mean": _mean([group.age for group in replayed]),
        "replay/age_max": max(group.age for group in replayed),
    }


def training_metrics(updates: Sequence[UpdateStats], planned: int, seconds: float) -> Metrics:
    """Of all updates of a step, of `planned` ones: means over their tokens, the mean gradient norm, the largest mismatch."""
    taken = [stats for stats in updates if not stats.skipped]
    tokens = sum(stats.tokens for stats in taken)

    metrics: Metrics = {
        "train/loss": _weighted([(s.loss, s.tokens) for s in taken]),
        "train/grad_norm": _mean([s.grad_norm for s in taken]),
        "train/entropy": _weighted([(s.entropy, s.tokens) for s in taken]),
        "train/tokens": tokens,
        "train/learning_rate": updates[-1].learning_rate if updates else None,
        "train/skipped_updates": planned - len(taken),
        "train/not_finite_updates": sum(stats.not_finite is not None for stats in updates),
        "mismatch/logprob_abs_mean": _weighted([(s.mismatch_abs_mean, s.tokens - s.stale_tokens) for s in taken]),
        "mismatch/logprob_abs_max": max((s.mismatch_abs_max or 0.0 for s in taken), default=None),
        "time/update": seconds,
        "throughput/train_tokens_per_second": tokens / max(seconds, 1e-9),
    }
    if any(stats.stale_tokens for stats in taken):
        metrics["replay/log_ratio_abs_mean"] = _weighted([(s.stale_log_ratio_abs_mean, s.stale_tokens) for s in taken])
    for name in sorted({name for stats in taken for name in stats.diagnostics}):
        metrics[f"train/{name}"] = _weighted([(s.diagnostics.get(name), s.tokens) for s in taken])
    return metrics


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _weighted(values: Sequence[tuple[float | None, int]]) -> float | None:
    total = sum(weight for _, weight in values)
    return sum((value or 0.0) * weight for value, weight in values) / total if total else None
