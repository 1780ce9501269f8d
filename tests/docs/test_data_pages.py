"""The pages on data: their recipes are read, their ```sh blocks are run as they stand there, shrunk by keys that a shell function adds."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet
import pytest

from ada.check.coin import score
from ada.check.tiny_model import byte_tokenizer, make_tiny_model
from ada.recipe.validate import read_recipe
from tests.docs import pages
from tests.docs.pages import ROOT

PAGES = ("train-on-my-data", "prepare")
_LAUNCHER = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT")


def blocks(page: str, language: str) -> list[str]:
    return pages.blocks(ROOT / "docs" / f"{page}.md", language)


def shell(folder: Path, script: str, *more: str) -> str:
    """With `ada` as a function that adds `more` to each command."""
    env = {name: value for name, value in os.environ.items() if name not in _LAUNCHER} | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    function = f'ada() {{ "{sys.executable}" -m ada "$@" {" ".join(more)}; }}\n'
    done = subprocess.run(["bash", "-e", "-c", function + script], cwd=folder, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("page", PAGES)
def test_recipes_and_commands_are_read(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "recipes").mkdir()
    written = [text for text in blocks(page, "yaml") if text.startswith("extends")]
    assert len(written) == 1
    (tmp_path / "recipes" / "my_problems.yaml").write_text(written[0])
    read_recipe("my_problems")
    for text in blocks(page, "yaml"):
        if not text.startswith("extends"):
            (tmp_path / "recipes" / "part.yaml").write_text("extends: gsm8k_jsonl\n" + text)
            read_recipe("part")
    commands = [
        line.split() for text in [*blocks(page, "sh"), *blocks(page, "bash")] for line in text.splitlines() if line.startswith("ada ")
    ]
    assert len(commands) == {"train-on-my-data": 2, "prepare": 3}[page]
    for _, _, recipe, *rest in commands:
        read_recipe(recipe, [word for word in rest if re.fullmatch(r"[a-z_.]+=\S+", word)])


@pytest.mark.slow
def test_preparing_word_problems_with_a_tiny_random_model(tmp_path):
    """A coin that the text tosses is the reward function: it also drops the gold answers that it calls wrong, known beforehand."""
    rows = {f"p{i}": {"id": f"p{i}", "problem": f"How much is {i} and {i}? {'Think. ' * (3 * i)}", "answer": str(2 * i)} for i in range(24)}
    (tmp_path / "problems.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows.values()))
    make_tiny_model(tmp_path / "tiny", "qwen2", byte_tokenizer(), context=700, seed=0)
    small = ["model.path=tiny", "model.dtype=float32", "data.train.id=id", "data.prompt.overlong=drop"]
    small += ["generation.max_prompt_tokens=470", "generation.max_response_tokens=16", "engine=transformers"]
    said = shell(tmp_path, "".join(blocks("prepare", "sh")), "reward.function=ada.check.coin:score", *small)
    kept = pyarrow.parquet.read_table(tmp_path / "prepared" / "problems.parquet").to_pylist()
    assert kept and f"{len(kept)} of 24 problems kept" in said
    for row in kept:
        assert (row["problem"], row["answer"]) == (rows[row["id"]]["problem"], rows[row["id"]]["answer"])
        assert 1 <= row["right"] <= 6 and row["right"] + row["wrong"] == 16 and row["pass_rate"] == row["right"] / 16
        assert score(f"The answer is \\boxed{{{row['answer']}}}.", "") == 1
    counts = dict(re.findall(r"\| (.*?) \| (\d+) \|", (tmp_path / "prepared" / "report.md").read_text()))
    dropped = [int(counts[f"dropped: {why}"]) for why in ("prompt too long", "gold answer that the reward function does not call right")]
    assert min(dropped) > 0 and sum(dropped) + int(counts["drawn from, 16 responses each"]) == 24
    assert re.search(r"GRPO-n4 +4\.00", said)  # the plan at these pass rates
