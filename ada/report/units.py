"""What a metric is counted in, for its axis; docs/metrics.md says the same."""

from __future__ import annotations

import re

_UNITS = (
    ("time/.*|total/seconds", "seconds"),
    ("throughput/.*", "tokens per second"),
    ("memory/.*", "GiB"),
    ("checkpoint/failures", "checkpoints"),
    ("train/(entropy|kl)|mismatch/.*|replay/log_ratio.*", "nats"),
    ("replay/age.*|streaming/staleness.*", "steps"),
    ("replay/groups", "groups"),
    ("signal/zero_gradient_fraction", "of groups"),
    ("sampling/.*_fraction", "of prompts"),
    ("(train|streaming)/.*_fraction", "of tokens"),
    ("(eval|reward|completions)/.*_fraction|eval/.*/avg@.*", "of responses"),
    ("eval/.*/pass@.*", "of problems"),
    (".*tokens|completions/mean_length", "tokens"),
    (".*(updates|retries)", "updates"),
    ("sampling/prompts|streaming/(open|dropped)", "prompts"),
    ("sampling/rounds", "looks"),
    ("(sampling|total)/(responses.*|trained|set_aside|dropped|surplus_draws)|reward/(timeouts|errors)", "responses"),
)


def unit(metric: str) -> str:
    """Empty where a metric has none."""
    return next((unit for pattern, unit in _UNITS if re.fullmatch(pattern, metric)), "")
