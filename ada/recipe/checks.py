"""Combinations of keys that make no sense, each refused with its reason before anything starts."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ada.sampling.groups.all import All
from ada.sampling.groups.balanced import Balanced
from ada.sampling.groups.positives import Positives
from ada.sampling.groups.random import Random
from ada.sampling.passrate.value_net import ValueNet
from ada.sampling.schedules.dapo import Dapo
from ada.sampling.schedules.est import Est
from ada.sampling.schedules.seq import Seq
from ada.sampling.schedules.speed import Speed
from ada.sampling.schedules.two_stage import TwoStage
from ada.sampling.schedules.uniform import Uniform
from ada.sampling.windows import stopping
from ada.trainer.advantages.maxrl import MaxRL
from ada.trainer.advantages.ngrpo import NGRPO
from ada.trainer.advantages.rlzvp import RLZVP
from ada.trainer.advantages.signed import Signed
from ada.trainer.losses.raft import RAFT
from ada.trainer.objectives.linear import Linear

if TYPE_CHECKING:
    from ada.contracts import Advantage
    from ada.recipe.schema import Recipe


FROM_GROUP = ("group", "leave_one_out")
"""Baselines of what is trained on."""


@dataclass(frozen=True)
class Complaint:
    key: str
    message: str


def check(recipe: Recipe) -> list[Complaint]:
    return [
        *_batch(recipe),
        *_prompt(recipe),
        *_groups(recipe),
        *_credit(recipe),
        *_refills(recipe),
        *_beliefs(recipe),
        *_streaming(recipe),
        *_sampling_law(recipe),
        *_trainer(recipe),
        *_evaluation(recipe),
        *_resume(recipe),
    ]


def _batch(recipe: Recipe) -> Iterator[Complaint]:
    batch = recipe.batch
    if batch.prompts_per_step % batch.updates_per_step:
        divisors = [d for d in range(1, batch.prompts_per_step + 1) if batch.prompts_per_step % d == 0]
        yield Complaint(
            "batch.updates_per_step",
            f"does not divide batch.prompts_per_step = {batch.prompts_per_step}, so the updates would differ in size; "
            f"allowed are {', '.join(map(str, divisors))}",
        )


def _prompt(recipe: Recipe) -> Iterator[Complaint]:
    if recipe.data.prompt.system is not None and recipe.data.prompt.style == "raw":
        yield Complaint("data.prompt.system", "a raw prompt has no system message; set null, or data.prompt.style=chat")


def _groups(recipe: Recipe) -> Iterator[Complaint]:
    size, group = recipe.batch.responses_per_group, recipe.sampling.group
    schedule = stopping(recipe.sampling.schedule)
    if isinstance(group, All) and size is not None:
        yield Complaint("batch.responses_per_group", "group `all` trains on all that was drawn, so there is no fixed size; set null")
    if not isinstance(group, All | Positives) and size is None:
        yield Complaint(
            "batch.responses_per_group", f"group `{group.name}` picks a fixed number of responses; set that number, or use group `all`"
        )
    if isinstance(group, Balanced) and size is not None and size % 2:
        yield Complaint(
            "batch.responses_per_group", f"group `balanced` is half right and half wrong; set an even number, for example {size + 1}"
        )
    if isinstance(group, Positives) and group.importance and size is None:
        yield Complaint(
            "sampling.group",
            "without a fixed size each right answer counts once, which is its share of the pool: importance would do nothing; leave it "
            "out, or set batch.responses_per_group",
        )
    key, most = ("draws", schedule.draws) if isinstance(schedule, Uniform | Speed) else ("max_draws", getattr(schedule, "max_draws", None))
    if size is not None and most is not None and most < size:
        yield Complaint("batch.responses_per_group", f"more than schedule.{key} = {most}; draw more or train on fewer")


def _credit(recipe: Recipe) -> Iterator[Complaint]:
    """Advantages that are always 0, weights that come twice, and keys that would do nothing."""
    group, advantage, objective, size = recipe.sampling.group, recipe.advantage, recipe.objective, recipe.batch.responses_per_group
    from_group = isinstance(advantage, NGRPO) or _baseline(advantage) in FROM_GROUP
    if isinstance(recipe.loss, RAFT):
        if not isinstance(group, Positives):
            yield Complaint(
                "loss",
                f"RAFT makes likelier whatever is trained on, and group `{group.name}` has wrong answers too; use group `positives`",
            )
        if not isinstance(objective, Linear):
            yield Complaint(
                "objective", "RAFT reads neither advantages nor their weights, so this would do nothing; use objective `linear`"
            )
        if not isinstance(advantage, Signed):
            yield Complaint(
                "advantage", "RAFT reads no advantage, but what counts as a gradient does: use `signed`, which is 1 for each right answer"
            )
        if getattr(group, "importance", False):
            yield Complaint("sampling.group", "RAFT reads no weights: importance would do nothing; leave it out, or use loss `reinforce`")
    elif isinstance(group, Positives) and from_group:
        yield Complaint(
            "advantage",
            "right answers compared with each other have no advantage: nothing would be learned; use baseline `pool`, or loss `raft`",
        )
    elif size == 1 and from_group and not isinstance(advantage, NGRPO):
        yield Complaint(
            "advantage.baseline",
            "a response compared with itself has no advantage: nothing would be learned; use baseline `pool`, or larger groups",
        )
    if isinstance(advantage, MaxRL) and not isinstance(objective, Linear):
        yield Complaint(
            "objective",
            "advantage `maxrl` has the weight 1/p of the log objective in itself, and this would weigh once more; use objective `linear`",
        )
    if isinstance(advantage, MaxRL) and advantage.baseline == "group" and isinstance(group, Balanced):
        yield Complaint(
            "advantage.baseline", "a balanced group's mean says nothing about the pass rate that MaxRL divides by; use baseline `pool`"
        )
    if isinstance(advantage, NGRPO | RLZVP):
        yield from _zero_variance_learner(recipe)
    elif (who := _who_credits(recipe)) and not isinstance(objective, Linear) and recipe.trainer.zero_variance != "reject":
        yield Complaint(
            "objective",
            f"{who} gives credit to prompts never right, where f'(0) is the floor's: they would outweigh all others; use "
            "objective `linear`, or trainer.zero_variance=reject",
        )


def _who_credits(recipe: Recipe) -> str | None:
    """What gives an advantage to the answers to a prompt where all are right, or all wrong."""
    if isinstance(recipe.advantage, Signed):
        return "advantage `signed`"
    if _baseline(recipe.advantage) == "belief":
        return "baseline `belief`"
    return "trainer.overlong" if recipe.trainer.overlong else None


def _zero_variance_learner(recipe: Recipe) -> Iterator[Complaint]:
    """Advantages made for prompts whose answers are all alike."""
    name = recipe.advantage.name
    if not isinstance(recipe.objective, Linear):
        yield Complaint(
            "objective", f"advantage `{name}` learns from prompts never right, where f'(0) would be the floor's; use objective `linear`"
        )
    if recipe.trainer.zero_variance == "reject":
        yield Complaint(
            "trainer.zero_variance",
            f"advantage `{name}` learns from prompts whose answers are all alike, which this leaves out; set keep",
        )
    if isinstance(recipe.sampling.schedule, Dapo):
        yield Complaint(
            "advantage", f"`{name}` learns from prompts whose answers are all alike, and schedule `dapo` replaces them; use one of the two"
        )


def _baseline(advantage: Advantage) -> str | None:
    return getattr(getattr(advantage, "otherwise", advantage), "baseline", None)


def _refills(recipe: Recipe) -> Iterator[Complaint]:
    if not isinstance(recipe.sampling.schedule, Dapo):
        return
    if recipe.trainer.zero_variance == "keep":
        yield Complaint(
            "trainer.zero_variance",
            "schedule `dapo` replaces prompts without a gradient; their tokens must not count in the update: set drop",
        )
    if recipe.trainer.zero_variance == "drop" and (who := _who_credits(recipe)):
        yield Complaint(
            "trainer.zero_variance", f"what schedule `dapo` replaces gets credit from {who} all the same, and would stay: set reject"
        )
    size, drawn = recipe.batch.responses_per_group, getattr(stopping(recipe.sampling.schedule), "draws", math.inf)
    if isinstance(recipe.sampling.group, Random) and size is not None and size < drawn and _baseline(recipe.advantage) in FROM_GROUP:
        yield Complaint(
            "sampling.group",
            "a random part of what schedule `dapo` found worth training on may be all alike, and then teaches nothing: use group "
            "`balanced`, or baseline `pool`",
        )


def _beliefs(recipe: Recipe) -> Iterator[Complaint]:
    by_belief = recipe.sampling.in_flight == "belief"
    if by_belief and not isinstance(stopping(recipe.sampling.schedule), Seq):
        yield Complaint(
            "sampling.in_flight",
            f"schedule `{recipe.sampling.schedule.name}` has no stop rule to look ahead to: give a number, or use schedule seq",
        )
    needed = isinstance(recipe.sampling.schedule, Est) or by_belief or _baseline(recipe.advantage) == "belief"
    if needed and recipe.sampling.passrate is None:
        who = "schedule `est`" if isinstance(recipe.sampling.schedule, Est) else "in_flight `belief`" if by_belief else "baseline `belief`"
        yield Complaint("sampling.passrate", f"{who} needs a belief about pass rates; set sampling.passrate to ema or value_net")
    if not needed and recipe.sampling.passrate is not None:
        yield Complaint(
            "sampling.passrate",
            "nothing in this recipe reads the belief; set null, or use schedule `est`, or belief as baseline or in_flight",
        )


def _streaming(recipe: Recipe) -> Iterator[Complaint]:
    if recipe.sampling.streaming is None:
        return
    schedule = recipe.sampling.schedule
    if isinstance(schedule, Est | TwoStage | Dapo):
        what = "opens prompts until a step has enough of them" if isinstance(schedule, Dapo) else "divides draws over the prompts of a step"
        yield Complaint(
            "sampling.streaming",
            f"schedule `{schedule.name}` {what}, and here prompts of several steps are open together; set null, or use seq, uniform or ngu",
        )
    if isinstance(recipe.sampling.passrate, ValueNet):
        yield Complaint(
            "sampling.passrate",
            "value_net learns from what it read of a prompt in the same step, and here prompts are trained on in later ones; use ema",
        )


def _sampling_law(recipe: Recipe) -> Iterator[Complaint]:
    if recipe.generation.top_p < 1 or recipe.generation.top_k:
        key = "generation.top_p" if recipe.generation.top_p < 1 else "generation.top_k"
        yield Complaint(
            key,
            "the actor scores responses under the whole softmax, so a truncated law would bias every ratio; "
            "set top_p=1 and top_k=0, and use temperature",
        )


def _evaluation(recipe: Recipe) -> Iterator[Complaint]:
    for name in recipe.evaluation.sets:
        if name == recipe.data.train.name:
            yield Complaint(
                "evaluation.sets", f"{name!r} is what the training prompts are called, and no two prompts may share an id; rename it"
            )
        if not name or "/" in name or "@" in name:
            yield Complaint("evaluation.sets", f"{name!r} becomes part of a metric's name; use letters, digits, - and _")


def _trainer(recipe: Recipe) -> Iterator[Complaint]:
    trainer, most = recipe.trainer, recipe.generation.max_response_tokens
    if trainer.correction is not None and trainer.old_logprobs == "from_sampler":
        yield Complaint(
            "trainer.correction", "with old_logprobs=from_sampler there is nothing to correct: the weight is always 1; set one of the two"
        )
    if trainer.zero_stage == 0 and recipe.model.dtype == "bfloat16":
        yield Complaint(
            "trainer.zero_stage",
            "DeepSpeed cannot add up the gradients of bfloat16 weights in float32 without ZeRO; set 1, which computes the same and shards "
            "the optimizer's state only, or 2 or 3; or set model.dtype=float32",
        )
    if trainer.overlong is not None and isinstance(recipe.advantage, Signed):
        yield Complaint("trainer.overlong", "advantage `signed` reads no rewards, so the penalty would do nothing; set null")
    if trainer.overlong is not None and isinstance(recipe.advantage, MaxRL):
        yield Complaint(
            "trainer.overlong", "a penalty makes rewards negative, and advantage `maxrl` divides by their mean; set null, or use `centred`"
        )
    if trainer.overlong is not None and trainer.overlong.buffer_tokens > most:
        yield Complaint(
            "trainer.overlong.buffer_tokens", f"more than generation.max_response_tokens = {most}; allowed are 1 to that number"
        )


def _resume(recipe: Recipe) -> Iterator[Complaint]:
    if recipe.resume != "auto" and recipe.run_name is None:
        yield Complaint("resume", "nothing says which run goes on; name it with run_name=..., or set resume=auto")
