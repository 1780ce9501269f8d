"""`ada plan RECIPE --pass-rates ...`: what the recipe's sampler and the usual ones would cost and yield, side by side."""

from __future__ import annotations

from ada.cli.failures import told
from ada.cli.table import print_table
from ada.observability.numbers import compact, fixed
from ada.recipe.errors import RecipeError
from ada.recipe.schema import Recipe
from ada.recipe.validate import read_recipe
from ada.sampling.groups.positives import Positives
from ada.sampling.plan import Forecast, Sampler, forecast, standard_samplers
from ada.sampling.profile import read_profile

COLUMNS = ("sampler", "responses/prompt", "zero gradient", "recovered", "trained/prompt", "tokens/step", "step time")


def plan(name: str, overrides: list[str], *, pass_rates: str, mean_tokens: float | None, generation: float, update: float) -> int:
    return told(lambda: _plan(name, overrides, pass_rates, mean_tokens, generation, update))


def _plan(name: str, overrides: list[str], pass_rates: str, mean_tokens: float | None, generation: float, update: float) -> int:
    recipe_name, recipe = read_recipe(name, overrides)
    for option, seconds in (("--generation-seconds", generation), ("--update-seconds", update), ("--mean-tokens", mean_tokens)):
        if seconds is not None and not seconds > 0:
            raise RecipeError(f"command line: {option} is {seconds}; it must be above 0")
    profile = read_profile(pass_rates)
    prompts, length = recipe.batch.prompts_per_step, mean_tokens or recipe.generation.max_response_tokens
    found = {sampler.label: forecast(sampler, profile) for sampler in samplers(recipe_name, recipe)}
    baseline = found["GRPO-n4"]

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

    print(f"\npass rates {pass_rates}, {fixed(profile.mean(profile.pass_rates_P), 3)} in the mean; {prompts} prompts a step\n")
    print_table(COLUMNS, [row(label, of) for label, of in found.items()], highlight=recipe_name)
    at_most = "" if mean_tokens else ", the most there can be (or give --mean-tokens)"
    print(
        f"\nzero gradient, recovered: shares of prompts; recovered: no gradient from its first 4 responses, and one from this sampler's.\n"
        f"tokens: {length:g} a response{at_most}.\n"
        f"step time: of GRPO-n4's, {generation:g} s of generation and {update:g} s of update, each in proportion to its responses."
    )
    return 0


def samplers(recipe_name: str, recipe: Recipe) -> list[Sampler]:
    """The usual ones, then the recipe's own."""
    own = Sampler(
        recipe_name,
        recipe.sampling.schedule,
        recipe.batch.responses_per_group,
        positives_only=isinstance(recipe.sampling.group, Positives),
        drops_zero_variance=recipe.trainer.zero_variance == "drop",
    )
    return [*standard_samplers(), own]
