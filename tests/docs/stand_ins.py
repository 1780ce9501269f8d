"""What the docs' commands name and a test has not: models and data sets of the hub, files of problems, the recipe of a page."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

from ada.check.tiny_model import byte_tokenizer, make_tiny_model
from tests.docs.pages import ROOT, blocks

MODELS = ("Qwen/Qwen2.5-Math-1.5B", "Qwen/Qwen2.5-0.5B-Instruct")
PROBLEMS = {"train": 16, "test": 4}  # in each file; a step that streams has four times its prompts open


def write_stand_ins(folder: Path) -> None:
    make_tiny_model(folder / MODELS[0], "qwen2", byte_tokenizer(), context=4096, seed=0)
    for name in MODELS[1:]:
        (folder / name).symlink_to(folder / MODELS[0])
    sums = [
        {"problem": f"What is {i} + {i}?", "answer": str(2 * i), "level": i % 2, "subject": "sums"} for i in range(max(PROBLEMS.values()))
    ]
    lines = [
        json.dumps(row | {"question": row["problem"], "gt": row["answer"], "unique_id": f"sum {row['answer']}"}) + "\n" for row in sums
    ]
    for place in [folder, *(folder / name for name in data_sets())]:
        place.mkdir(parents=True, exist_ok=True)
        for split, number in PROBLEMS.items():
            (place / f"{split}.jsonl").write_text("".join(lines[:number]))
    page = ROOT / "docs/train-on-my-data.md"
    subprocess.run(["bash", "-e", "-c", blocks(page, "sh")[0]], cwd=folder, check=True)
    (folder / "recipes").mkdir()
    (folder / "recipes/my_problems.yaml").write_text(blocks(page, "yaml")[0])


def data_sets() -> set[str]:
    """Every data set of the hub that a suite, a recipe or a page names."""
    files = [*ROOT.glob("suites/**/*.yaml"), *ROOT.glob("recipes/**/*.yaml")]
    named = {name for file in files for name in re.findall(r"name: huggingface, path: ([\w./-]+)", file.read_text())}
    return named | {"open-r1/OpenR1-Math-220k"}
