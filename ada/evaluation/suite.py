"""A suite: which problems a model is evaluated on, and by which law. A YAML file in suites/, found by its name or its path."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import field
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from ada.config import config, one_of
from ada.contracts import EngineMethod
from ada.data.prompts import PromptFormat
from ada.data.sources import Source
from ada.engine.generation import Generation
from ada.recipe.errors import RecipeError
from ada.recipe.load import load
from ada.recipe.validate import typed
from ada.rewards.config import Reward

MOST_SAMPLES = 256


@config
class Suite:
    sets: Annotated[
        dict[str, Annotated[Source, one_of("ada.data.sources")]], Field(min_length=1, description="problems by the name of their set")
    ]
    unions: Annotated[
        dict[str, list[str]], Field(description="sets that are reported together too, under one more name; each in one union at most")
    ] = field(default_factory=dict)
    labels: Annotated[
        dict[str, dict[str, str]],
        Field(description="by set: the columns that hold a problem's labels, for example {subject: subject, difficulty: level}"),
    ] = field(default_factory=dict)
    samples: Annotated[
        int, Field(gt=0, le=MOST_SAMPLES, description="k: responses per problem, for avg@k and for pass@1 to pass@k; at most 256")
    ] = 32
    temperature: Annotated[float, Field(gt=0, description="logits are divided by it")] = 1.0
    top_p: Annotated[float, Field(gt=0, le=1, description="keep the likeliest tokens up to this mass; 1 keeps all")] = 1.0
    max_prompt_tokens: Annotated[int, Field(gt=0, description="tokens; see prompt.overlong for a longer prompt")] = 1024
    max_response_tokens: Annotated[int, Field(gt=0, description="tokens of a response; one that is cut off is not right")] = 4096
    positions: Annotated[
        int | None,
        Field(gt=0, description="max_position_embeddings to set in place of the model's own, for more tokens than it was trained on"),
    ] = None
    prompt: Annotated[PromptFormat, Field(description="how a problem becomes a prompt")] = PromptFormat()
    reward: Annotated[Reward, Field(description="how a response is judged")] = Reward()
    engine: Annotated[EngineMethod, one_of("ada.engine.engines"), Field(description="what draws: vllm, or transformers")]
    dtype: Annotated[Literal["float32", "bfloat16"], Field(description="of the weights in the engine")] = "bfloat16"
    seed: Annotated[int, Field(ge=0, description="the one seed of all draws")] = 0
    texts: Annotated[int, Field(ge=0, description="responses of each problem whose text is kept")] = 1

    @property
    def law(self) -> Generation:
        return Generation(
            temperature=self.temperature,
            top_p=self.top_p,
            max_prompt_tokens=self.max_prompt_tokens,
            max_response_tokens=self.max_response_tokens,
        )


def read_suite(name: str, overrides: list[str]) -> tuple[str, Suite]:
    """The name and typed content of suite `name`, with `key=value` overrides. Raises RecipeError."""
    loaded = load(str(find_suite(name)), overrides)
    suite = typed(Suite, loaded)
    if complaints := list(_complaints(suite)):
        raise RecipeError("\n".join(f"{loaded.name}: {complaint}" for complaint in complaints))
    return loaded.name, suite


def find_suite(name: str) -> Path:
    folders = [Path("suites"), Path(__file__).parents[2] / "suites"]
    own = [Path(name)] if name.endswith((".yaml", ".yml")) else []
    for path in [*own, *(folder / f"{name}.yaml" for folder in folders)]:
        if path.is_file():
            return path
    known = sorted({path.stem for folder in folders for path in folder.glob("*.yaml")})
    raise RecipeError.unknown_name(f"suite {name!r}: no such file in suites/", name, known)


def _complaints(suite: Suite) -> Iterator[str]:
    for name in (*suite.sets, *suite.unions):
        if not name or "/" in name or "@" in name:
            yield f"{name!r} cannot name a set; use letters, digits, - and _"
    members = [member for union in suite.unions.values() for member in union]
    for name, union in suite.unions.items():
        if name in suite.sets or not union:
            yield f"unions.{name}: a union has a name that no set has, and at least one set"
    for key, named in (("unions", members), ("labels", list(suite.labels))):
        for name in sorted(set(named) - suite.sets.keys()):
            yield f"{key} names the set {name!r}, which the suite does not have; it has {', '.join(suite.sets)}"
    for name in sorted({name for name in members if members.count(name) > 1}):
        yield f"unions name the set {name!r} twice; a set is in one union at most"
    for name in suite.labels.keys() & suite.sets.keys():
        if not hasattr(suite.sets[name], "answer"):
            yield f"labels.{name}: source `{suite.sets[name].name}` has no columns to read labels from; remove the key"


def labels_of(suite: Suite) -> dict[str, dict[str, str]]:
    """The labels of each prompt that has some, by its id: {"math500/7": {"subject": "Algebra"}}. Raises DataError."""
    found: dict[str, dict[str, str]] = {}
    for name, columns in suite.labels.items():
        for label, column in columns.items():
            for row in dataclasses.replace(suite.sets[name], answer=column).rows():  # type: ignore[type-var]
                found.setdefault(f"{name}/{row.id}", {})[label] = row.answer
    return found
