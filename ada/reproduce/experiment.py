"""What is compared: recipes, how long each trains, and how many seeds. The settings are the recipes' own; nothing is tuned here."""

from __future__ import annotations

from dataclasses import dataclass

UPDATES = 50  # training steps at which methods are compared
BASELINES = ("GRPO-n4", "GRPO-n16")  # what each method is tested against


@dataclass(frozen=True)
class Method:
    name: str
    recipe: str
    steps: int = UPDATES  # more for methods that draw little, so that all can be compared at equal generated tokens too
    published: tuple[float, float] | None = None  # Ave@8 after 50 steps by the experiment's prototype: mean, standard error


METHODS = (
    Method("GRPO-n4", "micro_grpo_n4", 125, (0.518, 0.009)),
    Method("GRPO-n8", "micro_grpo_n8", 65, (0.589, 0.010)),
    Method("GRPO-n16", "micro_grpo_n16", published=(0.596, 0.004)),
    Method("DAPO-n4", "micro_dapo_n4", 60, (0.619, 0.004)),
    Method("Seq-pos", "micro_seq_pos", 75, (0.564, 0.010)),
    Method("Seq-balance", "micro_seq_balance", published=(0.626, 0.005)),
    Method("Seq-balance, log", "micro_seq_balance_log", published=(0.584, 0.012)),
    Method("Est-EMA", "micro_est_ema", 65, (0.593, 0.011)),
    Method("Est-value-net", "micro_est_value_net", 65),
    Method("GVM-RAFT", "micro_gvm_raft", 65),
    Method("Seq-balance + DAPO", "micro_seq_balance_dapo"),
)


@dataclass(frozen=True)
class Experiment:
    methods: tuple[Method, ...]
    seeds: tuple[int, ...]
    budget: float  # seconds of the whole; no run is started that would end after it
    overrides: tuple[str, ...] = ()  # recipe keys that all runs share beside what `runs` sets


FULL = Experiment(METHODS, seeds=(0, 1, 2, 3, 4), budget=3600.0)
QUICK = Experiment(
    tuple(method for method in METHODS if method.name in ("GRPO-n4", "GRPO-n16", "DAPO-n4", "Seq-balance")), seeds=(0, 1), budget=600.0
)
