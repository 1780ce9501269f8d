"""The estimators that the laboratory looks at: those of the recipes, and those that theory speaks of."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from ada.contracts import Advantage, Schedule
from ada.laboratory.estimator import Estimator
from ada.recipe.load import recipe_folders
from ada.recipe.validate import read_recipe
from ada.sampling.groups.all import All
from ada.sampling.groups.balanced import Balanced
from ada.sampling.groups.random import Random
from ada.sampling.schedules.est import Est
from ada.sampling.schedules.seq import Seq
from ada.sampling.schedules.uniform import Uniform
from ada.trainer.advantages.centred import Centred
from ada.trainer.advantages.maxrl import MaxRL
from ada.trainer.advantages.ngrpo import NGRPO
from ada.trainer.objectives.log import Log
from ada.trainer.objectives.power import Power


@dataclass(frozen=True)
class Row:
    label: str
    estimator: Estimator
    also: tuple[str, ...] = ()  # other recipes with the same gradient

    @property
    def aim(self) -> str:
        """linear, power or log: what its authors mean it to optimise. Est and MaxRL are after more than their objective key says."""
        schedule, objective = self.estimator.prompt_schedule, self.estimator.objective
        by_gradient = 1 - objective.alpha if isinstance(objective, Power) else float(objective.name == "log")
        by_draws = schedule.exponent if isinstance(schedule, Est) and isinstance(self.estimator.group, All) else 0.0
        exponent = 1.0 if isinstance(self.estimator.advantage, MaxRL) else by_gradient + by_draws
        return min({"linear": 0.0, "power": 0.5, "log": 1.0}.items(), key=lambda item: abs(item[1] - exponent))[0]


def recipe_rows() -> list[Row]:
    """One for each gradient that the recipes of the source tree, by name, ask for."""
    found: dict[object, Row] = {}
    recipes = [(path.stem, read_recipe(str(path))[1]) for path in recipe_folders()[-1].glob("*.yaml")]
    # The plain ones first: a gradient's row has the name of the first recipe that has it.
    for name, recipe in sorted(recipes, key=lambda r: (not r[0].startswith("micro_"), r[1].data.selection.name != "shuffle", r[0])):
        estimator = Estimator.of(recipe)
        first = found.get(estimator.same_gradient)
        found[estimator.same_gradient] = dataclasses.replace(first, also=(*first.also, name)) if first else Row(name, estimator)
    return list(found.values())


SEQ = Seq(exit="balance", check_every=4, max_draws=32, positives=2, negatives=2)
POS = Seq(exit="pos", check_every=4, max_draws=32, positives=1)
ONE_BY_ONE = Seq(exit="pos", check_every=1, max_draws=128, positives=1)
HYBRID = Est(exponent=0.5, epsilon=0.001, mean_draws=16, min_draws=1, max_draws=64)
IMPLICIT = Est(exponent=1.0, epsilon=0.001, mean_draws=8, min_draws=1, max_draws=64)
POOL, LEAVE_ONE_OUT, BELIEF = Centred(), Centred(baseline="leave_one_out"), Centred(baseline="belief")


def reference_rows() -> list[Row]:
    """What theory has a word on, each claim of the page with its row."""
    return [
        Row(label, Estimator(**parts))
        for label, parts in (
            ("uniform 4, leave one out", _parts(Uniform(draws=4), LEAVE_ONE_OUT)),
            ("uniform 4, group mean / std", _parts(Uniform(draws=4), Centred(baseline="group", scale="std"))),
            ("uniform 16, random 4, pool mean", _parts(Uniform(draws=16)) | {"group": Random(), "size": 4}),
            ("uniform 16, leave one out, power", _parts(Uniform(draws=16), LEAVE_ONE_OUT) | {"objective": Power(alpha=0.5)}),
            ("uniform 16, leave one out, log", _parts(Uniform(draws=16), LEAVE_ONE_OUT) | {"objective": Log()}),
            ("uniform 16, MaxRL", _parts(Uniform(draws=16), MaxRL())),
            ("uniform 4, NGRPO", _parts(Uniform(draws=4), NGRPO())),
            ("uniform 32, balanced 4", _parts(Uniform(draws=32)) | {"group": Balanced(), "size": 4}),
            ("uniform 32, balanced 4, importance", _parts(Uniform(draws=32)) | {"group": Balanced(importance=True), "size": 4}),
            ("seq balance, all, pool mean", _parts(SEQ)),
            ("seq balance, all, leave one out", _parts(SEQ, LEAVE_ONE_OUT)),
            ("seq balance, all, belief", _parts(SEQ, BELIEF)),
            ("seq pos, all, pool mean", _parts(POS)),
            ("seq pos, all, belief", _parts(POS, BELIEF)),
            ("seq pos one by one to 128, all, belief", _parts(ONE_BY_ONE, BELIEF)),
            ("est gamma 1, all, belief", _parts(IMPLICIT, BELIEF)),
            ("est gamma 1/2 x power, belief", _parts(HYBRID, BELIEF) | {"objective": Power(alpha=0.5)}),
        )
    ]


def _parts(schedule: Schedule, advantage: Advantage = POOL) -> dict[str, Any]:
    return {"schedule": schedule, "advantage": advantage}
