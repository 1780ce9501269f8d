"""Started by torchrun: a value network's beliefs over three steps on each rank, and the states that it reads, into a folder."""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path

from ada.trainer.distributed import start_distributed

start_distributed()

import torch  # noqa: E402

from ada.ranks import Ranks  # noqa: E402
from ada.sampling.passrate.value_net import ValueNet  # noqa: E402
from ada.trainer.actor import Actor  # noqa: E402
from ada.trainer.config import TrainerConfig  # noqa: E402
from ada.trainer.prompt_states import PromptStates  # noqa: E402
from ada.types import Prompt  # noqa: E402
from tests.sampling.pools import pool  # noqa: E402


def main(model: str, folder: str) -> None:
    dice = random.Random(0)
    asked = [Prompt(f"test/{i}", tuple(dice.randrange(1600) for _ in range(1 + 3 * i)), "", "test", "") for i in range(7)]
    ranks = Ranks()
    actor = Actor.start(model, TrainerConfig(learning_rate=1e-3, micro_batch_tokens=30, row_tokens=20), torch.float32, 1.0)
    states = PromptStates(actor, ranks)
    estimator = ValueNet().start(states)
    beliefs = []
    for _ in range(3):
        beliefs.append([belief.mean for belief in estimator.believe(asked)])
        estimator.learn([pool("RWWW" if i % 2 else "RRRW", id=p.id) for i, p in enumerate(asked)])
    found = {"prompts": [p.token_ids for p in asked], "states": states.of(asked).tolist(), "beliefs": beliefs}
    (Path(folder) / f"{ranks.world}-{ranks.rank}.json").write_text(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
