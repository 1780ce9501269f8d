"""What docs/ says of recipes is true of the code: keys, methods, recipes, and the page that is made from the types."""

import re

import pytest

from ada.config import methods
from ada.recipe.reference import reference
from ada.report.units import unit
from tests.docs.pages import GENERATED, ROOT, documented_keys, metric_patterns, spans

AXES = [
    "ada.sampling.schedules",
    "ada.sampling.passrate",
    "ada.sampling.groups",
    "ada.trainer.advantages",
    "ada.trainer.objectives",
    "ada.trainer.losses",
    "ada.trainer.aggregation",
    "ada.trainer.kl",
    "ada.trainer.corrections",
    "ada.data.selection",
]


def test_the_page_of_recipe_keys_is_what_the_types_say():
    same = GENERATED.read_text() == reference()
    assert same, "docs/recipe-keys.md is out of date: python -m ada.recipe.reference docs/recipe-keys.md"


def test_the_page_has_types_bounds_defaults_and_effects():
    text = GENERATED.read_text()
    for row in (
        "| `steps` | integer > 0 | – | steps of sampling and training |",
        "| `responses_per_group` | integer > 0 or null | – |",
        "| `clip_low` | number > 0 < 1 | `0.2` | a ratio below 1 - clip_low gains nothing more |",
        "| `exit` | `pos` or `balance` | `balance` |",
    ):
        assert row in text
    assert "### `sampling.schedule: seq`" in text and {"trainer.kl", "loss.dual_clip", "data.prompt.style", "sampling"} <= documented_keys()


@pytest.mark.parametrize("axis", AXES)
def test_every_method_is_described(axis):
    said = set(spans())
    assert not [name for name in methods(axis) if not any(re.match(rf"({name}|\w+: {name})\b", span) for span in said)]


def test_every_key_that_a_page_names_exists():
    known = documented_keys()
    sections = {key.partition(".")[0] for key in known if "." in key}
    named = {span: re.match(r"(\w+\.[\w.]+?)(?=[={:\s]|$)", span) for span in spans()}
    keys = {match[1]: spans()[span] for span, match in named.items() if match and match[1].partition(".")[0] in sections}
    keys = {key: page for key, page in keys.items() if not key.endswith((".md", ".jsonl", ".yaml", ".log", ".sets.test.path"))}
    assert len(keys) > 15
    assert not {key: page for key, page in keys.items() if key not in known}


def test_every_recipe_that_a_page_names_exists():
    there = {path.stem for path in (ROOT / "recipes").rglob("*.yaml")}
    named = {span: page for span, page in spans().items() if re.fullmatch(r"(micro|qwen\w+?|gsm8k)_\w+", span)}
    assert len(named) > 8
    assert not {span: page for span, page in named.items() if span not in there and not span.endswith("_")}


def test_every_metric_has_a_meaning_a_healthy_range_and_what_to_do():
    meanings, healthy = (ROOT / "docs/metrics.md").read_text().split("\n## ")
    assert set(metric_patterns(meanings)) == set(metric_patterns(healthy)) and len(set(metric_patterns(meanings))) > 50
    for line in healthy.splitlines():
        assert not line.startswith("| `") or (len(cells := line.strip("| ").split(" | ")) == 3 and all(cells)), line


def test_the_units_of_the_reports_axes_are_the_documented_ones():
    rows = [
        line.strip("| ").split(" | ")
        for line in (ROOT / "docs/metrics.md").read_text().split("\n## ")[0].splitlines()
        if line.startswith("| `")
    ]
    for row in rows:
        names = re.findall(r"`([a-z_0-9/@<>]+)`", row[0])
        documented = set(row[2].split(", ")) if len(row) > 2 else {""}
        assert {unit(name) for name in names} - {""} == documented - {""}, row[0]
    assert len(rows) > 40
