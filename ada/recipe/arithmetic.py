"""What a recipe's numbers amount to, in words: printed before training starts."""

from __future__ import annotations

from ada.recipe.schema import Recipe
from ada.sampling.groups.all import All
from ada.sampling.groups.balanced import Balanced
from ada.sampling.groups.max_variance import MaxVariance
from ada.sampling.groups.positives import Positives
from ada.sampling.schedules.dapo import Dapo
from ada.sampling.schedules.est import Est
from ada.sampling.schedules.ngu import NeverGiveUp
from ada.sampling.schedules.seq import Seq
from ada.sampling.schedules.speed import Speed
from ada.sampling.schedules.two_stage import TwoStage
from ada.sampling.schedules.uniform import Uniform
from ada.sampling.windows import stopping
from ada.trainer.advantages.centred import Centred
from ada.trainer.advantages.maxrl import MaxRL
from ada.trainer.advantages.ngrpo import NGRPO
from ada.trainer.advantages.rlzvp import RLZVP


def arithmetic(recipe: Recipe, world: int) -> list[str]:
    batch = recipe.batch
    per_update = batch.prompts_per_step // batch.updates_per_step
    trained = "every response" if batch.responses_per_group is None else f"at most {batch.responses_per_group}"
    lines = [
        f"sampling   {batch.prompts_per_step} prompts a step, {_draws(recipe)}, at T = {recipe.generation.temperature:g}",
        f"training   {trained} of each prompt; {batch.updates_per_step} updates of {per_update} prompts"
        + ("" if batch.responses_per_group is None else f" = up to {per_update * batch.responses_per_group} responses each"),
        f"in all     {recipe.steps} steps, {recipe.steps * batch.updates_per_step} updates, "
        f"{recipe.steps * batch.prompts_per_step} prompts on {world} rank(s)",
        f"objective  {_weight(recipe)}",
    ]
    return lines


def _draws(recipe: Recipe) -> str:
    match recipe.sampling.schedule:
        case Dapo() as dapo:
            groups = recipe.batch.prompts_per_step
            return f"{_inner_draws(dapo.inner)}, refilled to {groups} valid groups or {dapo.max_gen_batches} times the prompts"
        case other:
            return _inner_draws(other)


def _inner_draws(schedule: object) -> str:
    match schedule:
        case Uniform(draws=draws):
            return f"{draws} draws each"
        case Seq() as seq:
            until = f"{seq.positives} right" + (f" and {seq.wrong_needed} wrong" if seq.exit == "balance" else "")
            return f"{seq.check_every} draws at a time until {until}, at most {seq.max_draws} each"
        case Est() as est:
            return (
                f"{est.mean_draws:g} draws each on average, {est.min_draws} to {est.max_draws}, as (p + {est.epsilon:g})^-{est.exponent:g}"
            )
        case TwoStage() as two:
            return f"{two.explore} draws each, then more by the rule `{two.rule}`, {two.mean_draws:g} on average in all"
        case NeverGiveUp() as ngu:
            return f"{ngu.check_every} draws at a time, at most {ngu.max_draws} each"
        case Speed() as speed:
            return f"{speed.screen} draws each, and {speed.draws - speed.screen} more where both outcomes are among them"
    return f"schedule `{getattr(schedule, 'name', schedule)}`"


def _weight(recipe: Recipe) -> str:
    """f'(p) as the recipe writes it: the share of draws times the objective's. What the gradient optimises: `ada gradients`."""
    sampling, group = stopping(recipe.sampling.schedule), recipe.sampling.group
    gradient = {"linear": "1", "log": "1/p", "power": "alpha * p^(alpha-1)"}.get(recipe.objective.name, f"f' of `{recipe.objective.name}`")
    by_draws, whole = "1", isinstance(group, All | Positives) and recipe.batch.responses_per_group is None
    if whole and isinstance(sampling, Est):
        by_draws = f"(p + {sampling.epsilon:g})^-{sampling.exponent:g}"
    elif whole and isinstance(sampling, (Seq, TwoStage, NeverGiveUp, Speed)):
        by_draws = "E[draws | p]"
    line = f"{recipe.objective.name}: weight of a prompt, as written = {by_draws} (from draws) x {gradient} (from the objective)"
    return line + _by_advantage(recipe) + _by_group(recipe)


def _by_advantage(recipe: Recipe) -> str:
    """What the advantage adds to the weight."""
    match recipe.advantage:
        case MaxRL():
            return " x 1/p (from the advantage)"
        case Centred(scale="std") | RLZVP(otherwise=Centred(scale="std")):
            return " x (p (1-p))^-1/2 (from the standard deviation)"
        case NGRPO():
            return " x about (p (1-p))^-1/2 (from the standard deviation)"
    return ""


def _by_group(recipe: Recipe) -> str:
    match recipe.sampling.group:
        case Balanced(importance=False) | MaxVariance(importance=False):
            return f"; {recipe.sampling.group.name} groups weigh right : wrong as (1-p) : p"
        case Positives(importance=False):
            return " x 1/p (from right answers alone)" if recipe.batch.responses_per_group is not None else "; right answers alone"
        case Positives():
            return "; right answers alone, in their share of the pool"
    return ""
