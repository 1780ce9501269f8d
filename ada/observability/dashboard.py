"""The dashboard of a project on wandb: every metric of docs/metrics.md in sections, first what is looked at first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ada.observability.wandb_run import AXES


@dataclass(frozen=True)
class Panel:
    title: str
    metrics: tuple[str, ...] = ()
    pattern: str | None = None  # in place of names, where they depend on the recipe: a regular expression
    axis: str = AXES[0]
    log: bool = False


def _at_equal(axis: str, cost: str) -> tuple[Panel, ...]:
    return (
        Panel(f"held out, at equal {cost}", pattern="eval/.+/avg@.+", axis=axis),
        Panel(f"reward of the first n draws, at equal {cost}", ("reward/first_n",), axis=axis),
    )


SECTIONS: dict[str, tuple[Panel, ...]] = {
    "Held out": (
        Panel("right answers, avg@k", pattern="eval/.+/avg@.+"),
        Panel("solved among k, pass@k", pattern="eval/.+/pass@.+"),
        Panel("cut off, or without a verdict", pattern="eval/.+/(truncated|unknown)_fraction"),
    ),
    "At equal cost": _at_equal("total/generated_tokens", "generated tokens") + _at_equal("total/seconds", "seconds"),
    "Reward": (
        Panel("of the first n draws: comparable between samplers", ("reward/first_n",)),
        Panel("of all draws", ("reward/mean",)),
        Panel("parts", pattern="reward/parts/.+"),
    ),
    "Signal": (
        Panel("groups without a gradient", ("signal/zero_gradient_fraction",)),
        Panel("prompts always right, never right", ("sampling/all_right_fraction", "sampling/all_wrong_fraction")),
        Panel("prompts resolved", ("sampling/resolved_fraction",)),
    ),
    "Sampling": (
        Panel("draws of a prompt", ("sampling/responses_per_prompt",)),
        Panel("draws, and where they went", ("sampling/responses", "sampling/trained", "sampling/set_aside", "sampling/dropped")),
        Panel("prompts opened", ("sampling/prompts",)),
        Panel("looks at a prompt", ("sampling/rounds",)),
        Panel("draws that were not needed", ("sampling/surplus_draws",)),
        Panel("tokens of draws that were ended", ("sampling/aborted_tokens",)),
        Panel("error of the beliefs", ("sampling/belief_error",)),
    ),
    "Update": (
        Panel("entropy (nats)", ("train/entropy",)),
        Panel("gradient norm before clipping", ("train/grad_norm",), log=True),
        Panel("loss", ("train/loss",)),
        Panel("tokens whose ratio is clipped", ("train/clip_fraction",)),
        Panel("mean ratio", ("train/ratio",)),
        Panel("divergence from the reference (nats)", ("train/kl",)),
        Panel("learning rate", ("train/learning_rate",)),
        Panel("tokens trained on", ("train/tokens",)),
    ),
    "Sampler against trainer": (
        Panel("log-probs apart, mean (nats)", ("mismatch/logprob_abs_mean",), log=True),
        Panel("log-probs apart, largest (nats)", ("mismatch/logprob_abs_max",), log=True),
        Panel("engine against actor after a sync (nats)", ("mismatch/sync_logprob_abs_max",), log=True),
        Panel("tokens corrected", ("train/correction_capped_fraction", "train/correction_masked_fraction")),
        Panel("replayed groups", ("replay/groups",)),
        Panel("age of replayed groups (steps)", ("replay/age_mean", "replay/age_max")),
        Panel("log ratio of tokens of older weights (nats)", ("replay/log_ratio_abs_mean",)),
        Panel("prompts open across steps; dropped", ("streaming/open", "streaming/dropped")),
        Panel("age of streamed tokens (steps)", ("streaming/staleness_mean", "streaming/staleness_max")),
        Panel("share of tokens of older weights", ("streaming/stale_token_fraction",)),
    ),
    "Responses": (
        Panel("length (tokens)", ("completions/mean_length",)),
        Panel("cut off", ("completions/clipped_fraction",)),
        Panel("without a verdict", ("reward/unknown_fraction",)),
    ),
    "Time": (
        Panel("a step and its parts (s)", ("time/step", "time/rollout", "time/update", "time/sync", "time/eval")),
        Panel("waiting for rewards; beliefs; checkpoints (s)", ("time/reward", "time/passrate", "time/checkpoint")),
        Panel("CPU time (s)", ("time/cpu",)),
        Panel("tokens per second", ("throughput/rollout_tokens_per_second", "throughput/train_tokens_per_second"), log=True),
        Panel("tokens since the start", ("total/generated_tokens", "total/trained_tokens")),
        Panel("responses since the start", ("total/responses",)),
        Panel("seconds since the start", ("total/seconds",)),
    ),
    "Trouble": (
        Panel("rewards that timed out or failed", ("reward/timeouts", "reward/errors")),
        Panel("updates skipped, not finite, repeated", ("train/skipped_updates", "train/not_finite_updates", "train/memory_retries")),
        Panel("repeated for want of memory since the start", ("total/memory_retries",)),
        Panel("checkpoints that failed", ("checkpoint/failures",)),
        Panel("host memory (GiB)", ("memory/host_gib",)),
    ),
}
OPEN = ("Held out", "At equal cost", "Reward", "Signal")


def workspace(entity: str, project: str, name: str) -> Any:
    """The view as the package wandb-workspaces writes it; nothing is sent. Raises ModuleNotFoundError."""
    import wandb_workspaces.reports.v2 as panels
    import wandb_workspaces.workspaces as views

    def line_plot(panel: Panel) -> Any:
        return panels.LinePlot(
            title=panel.title,
            x=panel.axis,
            y=list(panel.metrics),
            metric_regex=panel.pattern,
            log_y=panel.log or None,
            title_x=panel.axis,
        )

    return views.Workspace(
        entity=entity,
        project=project,
        name=name,
        sections=[
            views.Section(name=name, panels=[line_plot(panel) for panel in of], is_open=name in OPEN) for name, of in SECTIONS.items()
        ],
        settings=views.WorkspaceSettings(x_axis=AXES[0]),
    )
