"""The comparison of Reinforce-Ada (arXiv 2510.04996), tables 1 and 2 and figures 5 to 7, on the micro-world."""

from ada.reproduce.experiment import Claim, Experiment, Method

METHODS = (
    Method("GRPO-n4", "micro_grpo_n4", 100, (0.518, 0.009)),
    Method("GRPO-n8", "micro_grpo_n8", prototype=(0.589, 0.010)),
    Method("GRPO-n16", "micro_grpo_n16", prototype=(0.596, 0.004)),
    Method("DAPO-n4", "micro_dapo_n4", prototype=(0.619, 0.004)),
    Method("Seq-pos", "micro_seq_pos", 55, (0.564, 0.010)),
    Method("Seq-balance", "micro_seq_balance", prototype=(0.626, 0.005)),
    Method("Seq-balance, log", "micro_seq_balance_log", prototype=(0.584, 0.012)),
    Method("Est-EMA", "micro_est_ema", prototype=(0.593, 0.011)),
    Method("Est-value-net", "micro_est_value_net"),
    Method("GVM-RAFT", "micro_gvm_raft"),
    Method("Seq-balance + DAPO", "micro_seq_balance_dapo"),
)

CLAIMS = (
    Claim("Seq-balance learns more than GRPO-n4 per update", "Seq-balance", "GRPO-n4", "updates"),
    Claim("Seq-pos learns more than GRPO-n4 per update", "Seq-pos", "GRPO-n4", "updates"),
    Claim("Seq-balance learns more than Seq-pos per update", "Seq-balance", "Seq-pos", "updates"),
    Claim("Est-EMA learns more than GRPO-n8, which draws as much, per update", "Est-EMA", "GRPO-n8", "updates"),
    Claim("Seq-balance reaches GRPO-n16's level or more per update", "Seq-balance", "GRPO-n16", "updates"),
    Claim("DAPO learns more than GRPO-n4 per update", "DAPO-n4", "GRPO-n4", "updates"),
    Claim("Seq-balance learns more than GRPO-n4 per generated token", "Seq-balance", "GRPO-n4", "tokens"),
    Claim("Seq-balance learns more than GRPO-n16 per generated token", "Seq-balance", "GRPO-n16", "tokens"),
    Claim("Seq-balance learns more than GRPO-n4 per CPU second", "Seq-balance", "GRPO-n4", "seconds"),
)

EXPERIMENT = Experiment(
    "paper",
    "The paper's comparison on the micro-world",
    METHODS,
    seeds=(0, 1, 2, 3, 4),
    budget=4500.0,
    baselines=("GRPO-n4", "GRPO-n16"),
    claims=CLAIMS,
)
