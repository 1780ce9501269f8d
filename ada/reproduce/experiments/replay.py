"""Three methods with and without replay of informative groups, on seeds that nothing was chosen by."""

from ada.reproduce.experiment import WORDS, Axis, Claim, Experiment, Method

AXES: tuple[Axis, ...] = ("updates", "responses", "seconds")
PAIRS = ("GRPO-n4", "DAPO-n4", "Seq-balance")
COLUMNS = {
    "groups replayed a step": "replay/groups",
    "their age (steps)": "replay/age_mean",
    "mean abs. log ratio": "replay/log_ratio_abs_mean",
}

EXPERIMENT = Experiment(
    "replay",
    "Replay of informative groups on the micro-world",
    (
        Method("GRPO-n4", "micro_grpo_n4", 100),
        Method("GRPO-n4 + replay", "micro_grpo_n4_replay", 100),
        Method("DAPO-n4", "micro_dapo_n4"),
        Method("DAPO-n4 + replay", "micro_dapo_replay"),
        Method("Seq-balance", "micro_seq_balance"),
        Method("Seq-balance + replay", "micro_seq_balance_replay"),
    ),
    seeds=(10, 11, 12, 13, 14),
    budget=3600.0,
    baselines=PAIRS,
    claims=tuple(
        Claim(f"{name} learns more with replay, at equal {WORDS[axis]}", f"{name} + replay", name, axis) for name in PAIRS for axis in AXES
    ),
    axes=AXES,
    columns=COLUMNS,
)
