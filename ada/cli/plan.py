"""`ada plan RECIPE --pass-rates ...`: what the recipe's sampler and the usual ones would cost and yield, side by side."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ada.cli.failures import told
from ada.cli.table import print_table
from ada.data.sources import DataError
from ada.observability.numbers import compact, fixed
from ada.recipe.errors import RecipeError
from ada.recipe.schema import Recipe
from ada.recipe.validate import read_recipe
from ada.sampling.groups.positives import Positives
from ada.sampling.plan import BASELINE, Forecast, Sampler, forecast, standard_samplers
from ada.sampling.profile import Profile, read_profile

COLUMNS = ("sampler", "responses/prompt", "zero gradient", "recovered", "trained/prompt", "tokens/step", "step time")
PAPER = (87.0, 15.0)  # seconds of generation and update of a GRPO-n4 step, Qwen2.5-Math-1.5B on 8 H100 (arXiv 2510.04996): 102 s in all


@dataclass(frozen=True)
class Measured:
    profile: Profile
    source: str  # where it is from, for people
    generation: float  # seconds of a GRPO-n4 step
    update: float
    tokens: float | None  # of a response
    costs_from: str


def plan(
    name: str, overrides: list[str], *, pass_rates: str, mean_tokens: float | None, generation: float | None, update: float | None
) -> int:
    return told(lambda: _plan(name, overrides, pass_rates, mean_tokens, generation, update))


def _plan(
    name: str, overrides: list[str], pass_rates: str, mean_tokens: float | None, generation: float | None, update: float | None
) -> int:
    recipe_name, recipe = read_recipe(name, overrides)
    for option, seconds in (("--generation-seconds", generation), ("--update-seconds", update), ("--mean-tokens", mean_tokens)):
        if seconds is not None and not seconds > 0:
            raise RecipeError(f"command line: {option} is {seconds}; it must be above 0")
    known = measured(pass_rates, recipe)
    prompts, length = recipe.batch.prompts_per_step, mean_tokens or known.tokens or recipe.generation.max_response_tokens
    generation, update = generation or known.generation, update or known.update
    found = {sampler.label: forecast(sampler, known.profile, prompts) for sampler in samplers(recipe_name, recipe)}
    baseline = found[f"GRPO-n{BASELINE}"]

    def row(label: str, of: Forecast) -> list[str]:
        return [
            label,
            fixed(of.responses, 2),
            fixed(of.zero_gradient, 3),
            fixed(of.recovered, 3),
            fixed(of.trained, 2),
            compact(of.responses * prompts * length),
            f"{of.step_time(baseline, generation, update):.2f}x",
        ]

    print(
        f"\npass rates {known.source}, {fixed(known.profile.mean(known.profile.pass_rates_P), 3)} in the mean; {prompts} prompts a step\n"
    )
    print_table(COLUMNS, [row(label, of) for label, of in found.items()], highlight=recipe_name)
    at_most = "" if mean_tokens or known.tokens else ", the most there can be (or give --mean-tokens)"
    print(
        "\nAll per prompt that a step asks for; DAPO's with the prompts that it draws in place of those without a gradient.\n"
        "recovered: no gradient from its first 4 responses, and one from this sampler's.\n"
        f"tokens: {length:.4g} a response{at_most}.\n"
        f"step time: of GRPO-n4's, {generation:.4g} s of generation and {update:.4g} s of update ({known.costs_from}, if not given), each "
        "in proportion to its responses. Too much where an engine has room for more draws at once: `ada simulate steps`."
    )
    return 0


def measured(pass_rates: str, recipe: Recipe) -> Measured:
    """A law or a file of pass rates, with the paper's costs; or a run: its prompts' pass rates and its own costs, at the recipe's size."""
    if "(" in pass_rates or Path(pass_rates).is_file():
        return Measured(read_profile(pass_rates), pass_rates, *PAPER, None, "Reinforce-Ada's on 8 H100")
    from ada.report.record import find_run, read_run
    from ada.sampling.run_profile import costs_of, profile_of

    try:
        path = find_run(pass_rates)
    except FileNotFoundError as error:
        raise DataError(f"pass rates {pass_rates!r}: neither a law such as beta(0.5,1.5), nor a file, nor a run. {error}") from None
    run = read_run(path)
    costs, baseline = costs_of(run.steps), BASELINE * recipe.batch.prompts_per_step
    return Measured(
        profile_of(run.pools),
        f"of run {path}",
        baseline * costs.generation_seconds,
        baseline * costs.update_seconds,
        costs.tokens,
        f"measured in {path}",
    )


def samplers(recipe_name: str, recipe: Recipe) -> list[Sampler]:
    """The usual ones, then the recipe's own."""
    own = Sampler(
        recipe_name,
        recipe.sampling.schedule,
        recipe.batch.responses_per_group,
        positives_only=isinstance(recipe.sampling.group, Positives),
        drops_zero_variance=recipe.trainer.zero_variance != "keep",
    )
    return [*standard_samplers(), own]
