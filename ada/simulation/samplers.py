"""The samplers whose steps are compared."""

from __future__ import annotations

from dataclasses import dataclass

from ada.contracts import Grouping, Schedule
from ada.recipe.schema import Recipe
from ada.sampling.groups.all import All
from ada.sampling.groups.balanced import Balanced
from ada.sampling.plan import SEQ_BALANCE
from ada.sampling.schedules.seq import Seq
from ada.sampling.schedules.uniform import Uniform
from ada.sampling.streaming import Streaming
from ada.sampling.windows import BeliefWindow, Window, fixed
from ada.simulation.rounds import Rounds

BASELINE = "GRPO-n4"
MAX_STALENESS = 8  # steps, in which four times as many prompts as a step needs come to an end
RESOLVE_PROBABILITY = 0.8  # of windows by belief, as in a recipe that does not say otherwise


@dataclass(frozen=True)
class Sampler:
    label: str
    schedule: Schedule
    group: Grouping
    group_size: int | None
    window: Window | None = None
    replayed: float = 0.0  # groups of earlier steps that are trained on again, for each of the step's own
    streaming: Streaming | None = None


def standard(seq: Seq = SEQ_BALANCE, group_size: int = 4) -> list[Sampler]:
    """GRPO, then Seq-balance in every way to order its draws."""

    def balance(label: str, window: Window | None = None, schedule: Schedule = seq, streaming: Streaming | None = None) -> Sampler:
        return Sampler(label, schedule, Balanced(), group_size, window, streaming=streaming)

    def streaming(opened: float, more: str = "", window: Window | None = None) -> Sampler:
        return balance(f"streaming {opened:g}{more}", window, streaming=Streaming(open=opened, max_staleness=MAX_STALENESS))

    every, belief = seq.check_every, BeliefWindow(seq, RESOLVE_PROBABILITY)
    return [
        Sampler(BASELINE, Uniform(draws=4), All(), None),
        Sampler("GRPO-n16", Uniform(draws=16), All(), None),
        balance(f"rounds of {every}, barrier", schedule=Rounds(seq)),
        balance(f"rounds of {every}"),
        *(balance(f"W={draws}", fixed(draws)) for draws in (16, 32) if draws > every),
        balance("W=belief", belief),
        *(streaming(opened) for opened in (1.5, 2.0, 3.0, 4.0)),
        streaming(1.5, ", W=belief", belief),
    ]


def of_recipe(name: str, recipe: Recipe) -> Sampler:
    sampling, batch = recipe.sampling, recipe.batch
    replayed = sampling.replay.groups / batch.prompts_per_step if sampling.replay else 0.0
    return Sampler(name, sampling.schedule, sampling.group, batch.responses_per_group, sampling.window, replayed, sampling.streaming)
