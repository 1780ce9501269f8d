"""Suites: all that ship are sound, mistakes are told, labels are read, and a model without room is refused by the key to change."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ada.evaluation.model import Model, with_positions
from ada.evaluation.row import Row
from ada.evaluation.rows_file import RowsFile, by_set, read_rows
from ada.evaluation.standalone import SETTINGS, require_same, settings_of
from ada.evaluation.suite import labels_of, read_suite
from ada.recipe.errors import RecipeError

ROOT = Path(__file__).parents[2]
DATA = ROOT.parent / "shared" / "data"
AIME_LIKE = {"aime24", "aime25", "hmmt24", "hmmt25", "brumo25", "cmimc25", "amc23"}


@pytest.mark.parametrize("name", sorted(path.stem for path in (ROOT / "suites").glob("*.yaml")))
def test_every_suite_is_sound_and_follows_the_paper(name):
    _, suite = read_suite(name, [])
    assert (suite.samples, suite.temperature, suite.top_p) == (32, 1.0, 1.0)
    assert suite.max_response_tokens == (20 if name == "micro" else 4096)


def test_the_papers_suite_is_four_sets_of_which_one_is_a_union():
    suite = read_suite("paper", [])[1]
    assert suite.sets.keys() == AIME_LIKE | {"math500", "minerva", "olympiad"}
    assert set(suite.unions["aime_like"]) == AIME_LIKE


@pytest.mark.parametrize(
    ("override", "told"),
    [
        ("sampels=8", "did you mean 'samples'"),
        ("samples=257", "less than or equal to 256"),
        ("unions.more=[aime24]", "names the set 'aime24', which the suite does not have; it has heldout"),
        ("unions.heldout=[heldout]", "a union has a name that no set has"),
        ("labels.heldout={subject: subject}", "source `microworld` has no columns"),
    ],
)
def test_mistakes_are_told(override, told):
    with pytest.raises(RecipeError, match=told):
        read_suite("micro", [override])


def test_an_unknown_suite_names_the_nearest():
    with pytest.raises(RecipeError, match="Did you mean 'math500'"):
        read_suite("math50", [])


@pytest.mark.skipif(not DATA.is_dir(), reason="no benchmark files beside the repository")
def test_labels_come_from_the_data_where_it_has_them():
    local = f"sets.math500={{name: jsonl, path: {DATA / 'math500.jsonl'}, id: id}}"
    suite = read_suite("math500", [local, "labels.math500={subject: meta.subject, difficulty: meta.level}"])[1]
    labels = labels_of(suite)
    assert len(labels) == 500 and {of["difficulty"] for of in labels.values()} == set("12345")
    assert labels["math500/math500-test/precalculus/807.json"] == {"subject": "Precalculus", "difficulty": "2"}


def folder_of(path: Path, positions: int, weights: bytes = b"x") -> Path:
    path.mkdir()
    (path / "config.json").write_text(json.dumps({"model_type": "qwen2", "max_position_embeddings": positions}))
    (path / "model.safetensors").write_bytes(weights)
    return path


def test_a_model_with_fewer_positions_needs_an_explicit_override(tmp_path):
    """Qwen2.5-Math has 4,096: the paper's 4,096 new tokens do not fit beside a prompt."""
    folder, scratch = folder_of(tmp_path / "m", 4096), tmp_path / "scratch"
    scratch.mkdir()
    with pytest.raises(RecipeError, match="makes 5120 tokens.*has 4096 positions.*max_response_tokens=3072.*positions=5120"):
        with_positions(folder, read_suite("math500", [])[1], scratch)
    assert with_positions(folder, read_suite("math500", ["max_response_tokens=3072"])[1], scratch) == folder
    longer = with_positions(folder, read_suite("math500", ["positions=5120"])[1], scratch)
    assert json.loads((longer / "config.json").read_text()) == {"model_type": "qwen2", "max_position_embeddings": 5120}
    assert (longer / "model.safetensors").read_bytes() == b"x"
    assert json.loads((folder / "config.json").read_text())["max_position_embeddings"] == 4096


def test_a_run_is_its_last_checkpoint(tmp_path):
    for step in (50, 100):
        (tmp_path / f"run/checkpoints/step-{step:06d}").mkdir(parents=True)
        folder_of(tmp_path / f"run/checkpoints/step-{step:06d}/huggingface", 64)
    model = Model.find(str(tmp_path / "run"))
    assert (model.folder.parent.name, model.name) == ("step-000100", "run-step-000100")
    assert Model.find(str(model.folder)).name == "run-step-000100"
    (tmp_path / "bare/checkpoints").mkdir(parents=True)
    with pytest.raises(FileNotFoundError, match="a run without a checkpoint"):
        Model.find(str(tmp_path / "bare"))


def test_a_folder_of_another_evaluation_is_not_continued(tmp_path):
    model, other = (Model(folder_of(tmp_path / name, 64, weights), name) for name, weights in (("a", b"1"), ("b", b"2")))
    suite = read_suite("micro", [])[1]
    (tmp_path / SETTINGS).write_text(json.dumps(settings_of(model, "micro", suite)))
    require_same(tmp_path, settings_of(model, "micro", read_suite("micro", ["engine.max_concurrent=7"])[1]))
    for now, key in (
        (settings_of(model, "micro", read_suite("micro", ["samples=8"])[1]), "samples"),
        (settings_of(other, "micro", suite), "weights"),
    ):
        with pytest.raises(RecipeError, match=f"holds an evaluation with {key} = .*--output"):
            require_same(tmp_path, now)


def test_rows_survive_a_kill_and_come_from_every_rank(tmp_path):
    rows = [Row("a/1", "RW", (3, 4), {}, ("text ünd\u2028mehr",)), Row("a/x/2", "TU", (9, 0), {"timeout": 1}), Row("b/1", "RR", (1, 1))]
    for rank, row in enumerate(rows):
        file = RowsFile(tmp_path, rank % 2)
        file.append(row)
        file.close()
    with (tmp_path / "rows-1.jsonl").open("a") as file:
        file.write('{"id": "b/2", "verd')
    found = read_rows(tmp_path)
    assert sorted(found.values(), key=lambda row: row.id) == rows
    assert {name: len(of) for name, of in by_set(found.values(), ["a", "b", "c"]).items()} == {"a": 2, "b": 1, "c": 0}
