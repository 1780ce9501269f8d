"""How many groups to replay, and how old they may be: GRPO-n4, up to where it breaks."""

from ada.reproduce.experiment import Experiment, Method
from ada.reproduce.experiments import replay

SIZES_BY_AGE = {2: (16, 32), 8: (16, 32, 64, 128), 24: (32, 64, 128, 256), 50: (512,)}

EXPERIMENT = Experiment(
    "replay_sweep",
    "Replay on the micro-world: how much, and how old",
    (
        Method("GRPO-n4", "micro_grpo_n4", 100),
        *(
            Method(
                f"{groups} groups, age up to {age}",
                "micro_grpo_n4_replay",
                overrides=(f"sampling.replay.groups={groups}", f"sampling.replay.max_age={age}"),
            )
            for age, sizes in SIZES_BY_AGE.items()
            for groups in sizes
        ),
    ),
    seeds=(10, 11),
    budget=1800.0,
    baselines=("GRPO-n4",),
    axes=replay.EXPERIMENT.axes,
    columns=replay.COLUMNS,
)
