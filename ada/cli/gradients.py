"""`ada gradients RECIPE`: the objective that a recipe's expected gradient belongs to, and its noise, exactly. See docs/estimators.md."""

from __future__ import annotations

from ada.cli.failures import told
from ada.cli.table import print_table
from ada.laboratory.estimator import Estimator
from ada.laboratory.summary import PASS_RATES, Summary, derivative, summarise
from ada.laboratory.tables import DIRECTIONS, number
from ada.recipe.validate import read_recipe
from ada.sampling.profile import read_profile


def gradients(name: str, overrides: list[str], *, pass_rates: str | None) -> int:
    return told(lambda: _gradients(name, overrides, pass_rates))


def _gradients(name: str, overrides: list[str], pass_rates: str | None) -> int:
    recipe_name, recipe = read_recipe(name, overrides)
    summary = _summary(Estimator.of(recipe), pass_rates)
    print(f"\n{recipe_name}: {number(summary.drawn)} draws a prompt; E[gradient of a prompt] = weight * grad p, beside known f'(p)\n")
    targets = {label: derivative(label, PASS_RATES) for label in DIRECTIONS}
    print_table(
        ["p", "draws", "weight", *DIRECTIONS, "noise"],
        [
            [
                f"{PASS_RATES[i]:g}",
                number(summary.of[i].drawn),
                number(summary.weights_P[i]),
                *(number(targets[label][i]) for label in DIRECTIONS),
                number(summary.noise_P[i]),
            ]
            for i in range(len(PASS_RATES))
        ],
        highlight=None,
    )
    print(f"\nover the prompts of a step ({pass_rates or 'as many of each p above'}):\n")
    print_table(
        ["objective", "cosine", "length"],
        [[label, f"{summary.cosine(label):.3f}", number(summary.length(label))] for label in DIRECTIONS],
        highlight=None,
    )
    print(f"\nnoise: responses per prompt until it is no longer than the mean; over the step {number(summary.noise)}.")
    return 0


def _summary(estimator: Estimator, pass_rates: str | None) -> Summary:
    """Of the pass rates that are shown, and where a law is given of its own beside them, which alone counts in the step's means."""
    if pass_rates is None:
        return summarise(estimator)
    profile = read_profile(pass_rates)
    shares = [0.0] * len(PASS_RATES) + profile.weights_P.tolist()
    return summarise(estimator, [*PASS_RATES, *profile.pass_rates_P.tolist()], shares)
