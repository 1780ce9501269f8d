"""Data sets of the hub's library: from folders, with the real library; and what is said where the hub cannot be reached."""

from __future__ import annotations

import json

import datasets
import huggingface_hub
import pytest

from ada.data.sources import DataError, MissingData, Row
from ada.data.sources.huggingface import HuggingFace
from ada.recipe.validate import read_recipe

ROWS = {"problem": ["1+1", "2+2"], "gt": [2.0, 4.0], "unused": [None, {"a": [1]}]}


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")


def test_a_saved_data_set_and_one_with_splits(tmp_path):
    saved = datasets.Dataset.from_dict(ROWS)
    saved.save_to_disk(tmp_path / "one")
    datasets.DatasetDict({"train": saved, "test": saved.select([1])}).save_to_disk(tmp_path / "two")
    assert list(HuggingFace(path=str(tmp_path / "one"), answer="gt").rows()) == [Row("1", "1+1", "2"), Row("2", "2+2", "4")]
    assert list(HuggingFace(path=str(tmp_path / "two"), answer="gt", split="test").rows()) == [Row("1", "2+2", "4")]
    with pytest.raises(DataError, match=r"no split 'dev'; there are 'train', 'test'"):
        list(HuggingFace(path=str(tmp_path / "two"), split="dev").rows())
    with pytest.raises(DataError, match=r"one, split 'train', row 1: no column 'answer'; .*`answer: gt`"):
        list(HuggingFace(path=str(tmp_path / "one")).rows())


def test_a_folder_of_data_files_and_its_changes_X01(tmp_path):
    """As a download leaves it. The library caches what it read: another content of the same file must not come from there."""
    (tmp_path / "data").mkdir()
    for answers in ((1, 2), (3, 4)):
        (tmp_path / "data" / "train.jsonl").write_text("".join(json.dumps({"problem": f"p{a}", "answer": a}) + "\n" for a in answers))
        assert [row.answer for row in HuggingFace(path=str(tmp_path / "data"), split="train[:2]").rows()] == [str(a) for a in answers]
    with pytest.raises(DataError, match="split 'dev'"):
        list(HuggingFace(path=str(tmp_path / "data"), split="dev").rows())


def test_without_network_the_error_says_what_to_do(monkeypatch):
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(MissingData) as told:
        list(HuggingFace(path="RLHFlow/reinforce_ada_hard_prompt", answer="gt").rows())
    assert str(told.value).startswith("RLHFlow/reinforce_ada_hard_prompt: no such folder here, and the Hugging Face hub did not give it")
    assert "hf download --repo-type dataset RLHFlow/reinforce_ada_hard_prompt --local-dir FOLDER" in str(told.value)


def test_a_hub_that_cannot_be_reached_is_told_at_once_and_the_cache_still_serves(monkeypatch):
    """Nobody listens at port 1. The library alone would ask again and again."""
    monkeypatch.setattr(huggingface_hub.constants, "ENDPOINT", "http://127.0.0.1:1")
    monkeypatch.setattr("ada.data.sources.huggingface.getproxies", dict)
    asked = []

    def load_dataset(*arguments, **keys):
        asked.append((datasets.config.HF_HUB_OFFLINE, huggingface_hub.constants.HF_HUB_OFFLINE))
        return load(*arguments, **keys)

    load = datasets.load_dataset
    monkeypatch.setattr(datasets, "load_dataset", load_dataset)
    with pytest.raises(MissingData, match=r"did not give it \(http://127\.0\.0\.1:1 cannot be reached\)\. Run once with a network"):
        list(HuggingFace(path="RLHFlow/reinforce_ada_hard_prompt", answer="gt").rows())
    assert asked == [(True, True)]  # from the cache alone
    assert not huggingface_hub.constants.HF_HUB_OFFLINE
    monkeypatch.setattr(datasets, "load_dataset", lambda *_, **__: datasets.Dataset.from_dict(ROWS))
    assert len(list(HuggingFace(path="RLHFlow/reinforce_ada_hard_prompt", answer="gt").rows())) == 2


@pytest.mark.parametrize("recipe", ["qwen15b_seq_balance", "qwen15b_hard_seq_balance"])
def test_the_paper_s_recipes_name_the_released_sets(recipe):
    _, read = read_recipe(recipe)
    assert isinstance(read.data.train, HuggingFace) and read.data.train.path.startswith("RLHFlow/reinforce_ada_")
    assert {source.path for source in read.evaluation.sets.values()} == {
        f"weqweasdas/{name}" for name in ("math500", "minerva_math", "olympiadbench", "aime_hmmt_brumo_cmimc_amc23")
    }
