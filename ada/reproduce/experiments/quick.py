"""The paper's four main methods with two seeds, in about ten minutes; its runs are among those of `paper`."""

import dataclasses

from ada.reproduce.experiments import paper

MAIN = {"GRPO-n4", "GRPO-n16", "DAPO-n4", "Seq-balance"}

EXPERIMENT = dataclasses.replace(
    paper.EXPERIMENT,
    name="quick",
    methods=tuple(method for method in paper.METHODS if method.name in MAIN),
    claims=tuple(claim for claim in paper.CLAIMS if {claim.better, claim.worse} <= MAIN),
    seeds=(0, 1),
    budget=660.0,
)
