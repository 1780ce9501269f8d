"""What decides a gradient's mean and noise at the sampling policy: schedule, group, credit, and which groups count."""

from __future__ import annotations

import dataclasses

from ada.contracts import Advantage, Aggregation, EntropyGuided, Grouping, Loss, Objective, PassRateMethod, Schedule
from ada.recipe.schema import Recipe
from ada.sampling.groups.all import All
from ada.sampling.windows import stopping
from ada.trainer.advantages.centred import Centred
from ada.trainer.aggregation.token_mean import TokenMean
from ada.trainer.credit import ZeroVariance
from ada.trainer.losses.reinforce import Reinforce
from ada.trainer.objectives.linear import Linear


@dataclasses.dataclass(frozen=True)
class Estimator:
    schedule: Schedule
    group: Grouping = All()
    size: int | None = None  # responses of a prompt that are trained on; None: as many as the group takes
    advantage: Advantage = Centred()
    objective: Objective = Linear()
    loss: Loss = Reinforce()
    zero_variance: ZeroVariance = "keep"
    aggregation: Aggregation = TokenMean()
    passrate: PassRateMethod | None = None

    @classmethod
    def of(cls, recipe: Recipe) -> Estimator:
        return cls(
            schedule=recipe.sampling.schedule,
            group=recipe.sampling.group,
            size=recipe.batch.responses_per_group,
            advantage=recipe.advantage,
            objective=recipe.objective,
            loss=recipe.loss,
            zero_variance=recipe.trainer.zero_variance,
            aggregation=recipe.trainer.aggregation,
            passrate=recipe.sampling.passrate,
        )

    @property
    def prompt_schedule(self) -> Schedule:
        """How each prompt is drawn from; which prompts DAPO draws in place of others is not the prompt's business."""
        return stopping(self.schedule)

    @property
    def credit_reads_pass_rate(self) -> bool:
        """By a belief, which is taken to be right, or by the policy's entropy."""
        return getattr(self.advantage, "baseline", None) == "belief" or isinstance(self.advantage, EntropyGuided)

    @property
    def same_gradient(self) -> tuple[object, ...]:
        """Equal for two estimators with the same gradient at the sampling policy, where nothing is clipped, if beliefs are right."""
        return (self.schedule, self.group, self.size, self.advantage, self.objective, self.loss.name, self.zero_variance)
