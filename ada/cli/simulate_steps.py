"""`ada simulate steps [RECIPE]`: what steps of the usual samplers, and of the recipe's, would take on any number of GPUs."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

from ada.cli.failures import told
from ada.cli.figure import figure_for
from ada.cli.steps_plot import plot_steps
from ada.cli.table import print_table
from ada.observability.numbers import compact, fixed
from ada.recipe.errors import RecipeError
from ada.recipe.validate import read_recipe
from ada.sampling.profile import read_profile
from ada.simulation.costs import DecodeCost, StartCost, UpdateCost
from ada.simulation.draws import Lengths
from ada.simulation.samplers import BASELINE, Sampler, of_recipe, standard
from ada.simulation.setting import PAPER, Setting
from ada.simulation.steps import StepForecast, simulate

COLUMNS = (
    "sampler",
    "step time",
    "seconds",
    "generation",
    "idle",
    "responses/prompt",
    "tokens",
    "aborted",
    "trained",
    "staleness",
    "dropped",
)
PROMPTS = 4096  # that a forecast is averaged over where --steps does not say otherwise


def simulate_steps(name: str | None, overrides: list[str], **options: Any) -> int:
    return told(lambda: _simulate_steps(name, overrides, **options))


def _simulate_steps(
    name: str | None, overrides: list[str], gpus: str, steps: int | None, samplers: str | None, json: bool, plot: str | None, **inputs: Any
) -> int:
    setting, profile_name = _setting(inputs)
    chosen, own = _samplers(name, overrides, samplers)
    counts = _gpus(gpus)
    if steps is not None and steps < 1:
        raise RecipeError(f"command line: --steps is {steps}; at least 1 is needed")
    if plot:
        figure_for(Path(plot))  # what cannot be drawn is told before the minutes that the steps may take
    say = (lambda *_: None) if json else _print
    say(_inputs(setting, profile_name))
    found = {}
    for count in counts:
        each = steps or max(1, round(PROMPTS / (count * setting.prompts)))
        found[count] = {sampler.label: simulate(setting, sampler, count, each) for sampler in chosen}
        say(f"\n{count} GPUs, {count * setting.prompts} prompts a step; means of {each} steps\n")
        if not json:
            print_table(
                COLUMNS, [_row(label, of, found[count][BASELINE], count * setting.prompts) for label, of in found[count].items()], own
            )
    say(
        f"\nstep time: of {BASELINE}'s. generation: seconds, until the last rank is done; idle: share of it in which a rank has nothing"
        "\nto decode. tokens, aborted, trained: of a step; aborted: of draws that were ended on the way. staleness: updates between the"
        "\nweights that wrote a trained token and those it is trained on; dropped: share of the opened prompts, which were open too long."
    )
    if json:
        _print_json(setting, profile_name, found)
    if plot:
        plot_steps(found, Path(plot), own)
        say(f"\n{plot}: step times and idle shares")
    return 0


def _setting(inputs: dict[str, Any]) -> tuple[Setting, str]:
    """The preset, with what the command line says otherwise."""
    given = {option: value for option, value in inputs.items() if value is not None}
    for option, value in given.items():
        least = 1 if option in ("longest", "prompts", "slots") else 0
        if isinstance(value, int | float) and not value >= least:
            raise RecipeError(f"command line: --{option.replace('_', '-')} is {value}; it must be at least {least}")
    lengths = Lengths(given.get("lengths", PAPER.lengths.law), given.get("longest", PAPER.lengths.longest))
    setting = dataclasses.replace(
        PAPER,
        lengths=lengths,
        update=UpdateCost(given.get("fixed_seconds", PAPER.update.fixed), given.get("token_seconds", PAPER.update.per_token)),
        start=StartCost(
            given.get("start_step_seconds", PAPER.start.per_step),
            given.get("start_seconds", PAPER.start.per_draw),
            given.get("reread_seconds", PAPER.start.per_token),
        ),
        **{option: given[option] for option in ("prompts", "slots", "belief_draws", "verdict_seconds") if option in given},
    )
    if "decode" in given:
        setting = dataclasses.replace(setting, decode=DecodeCost.read(given["decode"]))
    if "pass_rates" not in given:
        return setting, "beta(1,1)"
    return dataclasses.replace(setting, profile=read_profile(given["pass_rates"])), given["pass_rates"]


def _samplers(name: str | None, overrides: list[str], words: str | None) -> tuple[list[Sampler], str | None]:
    if name is not None and "=" in name:
        raise RecipeError(f"command line: {name!r} changes a recipe key, but no recipe is named; name one before it")
    chosen, own = standard(), None
    if name is not None:
        own, recipe = read_recipe(name, overrides)
        chosen.append(of_recipe(own, recipe))
    if words is not None:
        kept = [s for s in chosen if s.label in (BASELINE, own) or any(word in s.label for word in words.split(","))]
        if len(kept) == 1 + (own is not None):
            raise RecipeError(f"command line: --samplers is {words!r}; the names to choose from: {', '.join(s.label for s in chosen)}")
        chosen = kept
    return chosen, own


def _gpus(text: str) -> list[int]:
    try:
        counts = [int(count) for count in text.split(",")]
    except ValueError:
        counts = [0]
    if min(counts) < 1:
        raise RecipeError(f"command line: --gpus is {text!r}; give whole numbers above 0, such as 1,8,64")
    return counts


def _inputs(setting: Setting, profile: str) -> str:
    decode, start, update = setting.decode, setting.start, setting.update
    costs = ", ".join(f"{1000 * decode(b):.3g} ms with {b}" for b in (1, 64, 256, setting.slots))
    return (
        f"\ndecoding step: {costs} draws running, at most {setting.slots}; {start.per_step:g} s more where some begin and "
        f"{start.per_draw:g} s for each, {1e6 * start.per_token:g} µs for each token of one that goes on after an update"
        f"\nresponses: {setting.lengths.law} tokens, at most {setting.lengths.longest}, {setting.lengths.mean:.0f} in the mean; "
        f"verdicts after {setting.verdict_seconds:g} s"
        f"\npass rates: {profile}; beliefs from {setting.belief_draws} earlier responses"
        f"\nupdate: {update.fixed:g} s a step and {1e6 * update.per_token:g} µs of a GPU for each response token trained on"
    )


def _row(label: str, of: StepForecast, baseline: StepForecast, prompts: int) -> list[str]:
    return [
        label,
        f"{of.seconds / baseline.seconds:.2f}x",
        fixed(of.seconds, 1),
        fixed(of.rollout_seconds, 1),
        fixed(of.idle, 3),
        fixed(of.responses / prompts, 1),
        compact(of.generated_tokens),
        compact(of.aborted_tokens),
        compact(of.trained_tokens),
        fixed(of.staleness, 2),
        fixed(of.dropped / (prompts + of.dropped), 3),
    ]


def _print(text: str) -> None:
    print(text, flush=True)


def _print_json(setting: Setting, profile: str, found: dict[int, dict[str, StepForecast]]) -> None:
    inputs = dataclasses.asdict(setting) | {"profile": profile}
    tables = {
        str(count): {
            label: dataclasses.asdict(of) | {"step_time": of.seconds / samplers[BASELINE].seconds} for label, of in samplers.items()
        }
        for count, samplers in found.items()
    }
    print(json.dumps({"inputs": inputs, "gpus": tables}, indent=1))
