"""`ada eval` with a real engine: stopped and continued, twice the same, shared by two ranks, compared, and wrong input told."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ada.cli import main
from ada.data.microworld.task import problems
from ada.evaluation.bootstrap import Interval
from ada.evaluation.model import Model
from ada.evaluation.report import picture
from ada.evaluation.results import ALL
from ada.evaluation.rows_file import read_rows
from ada.evaluation.standalone import evaluate_model
from ada.evaluation.suite import read_suite

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]
ROOT = Path(__file__).parents[2]
PROBLEMS, SAMPLES = 24, 4


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    file = tmp_path_factory.mktemp("data") / "problems.jsonl"
    rows = list(problems("heldout"))[:PROBLEMS]
    file.write_text("".join(json.dumps({"id": r.id, "problem": r.prompt, "answer": r.answer, "base": r.prompt[1]}) + "\n" for r in rows))
    source = f"sets.heldout={{name: jsonl, path: {file}, id: id}}"
    return [source, "labels.heldout={difficulty: base}", f"samples={SAMPLES}", "engine=transformers", "engine.max_concurrent=32"]


@pytest.fixture(scope="module")
def whole(keys: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("evals") / "whole"
    evaluate(keys, folder)
    return folder


def evaluate(keys, folder, should_stop=lambda: False):
    name, suite = read_suite("micro", keys)
    return evaluate_model(Model.find("microworld"), name, suite, folder, should_stop).rows


def ada(*arguments: str, folder: Path, ranks: int = 1) -> subprocess.CompletedProcess[str]:
    launcher = ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={ranks}", "--no-python", sys.executable]
    command = [sys.executable, *(launcher if ranks > 1 else []), "-m", "ada", *arguments]
    environment = {k: v for k, v in os.environ.items() if k not in ("RANK", "LOCAL_RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")}
    environment |= {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=280, check=False)


def test_stopped_and_continued_gives_the_same_as_in_one_go(keys, whole, tmp_path):
    from ada.sampling.collector import Stopped

    def after_some() -> bool:
        return sum(path.read_text().count("\n") for path in tmp_path.glob("rows-*.jsonl")) >= 3

    with pytest.raises(Stopped):
        evaluate(keys, tmp_path, after_some)
    kept = len(read_rows(tmp_path))
    assert 3 <= kept < PROBLEMS
    rows = evaluate(keys, tmp_path)
    assert rows == list(evaluate(keys, whole))  # nothing is left to draw there
    assert len(rows) == PROBLEMS and any(row.right for row in rows) and not all(row.right == SAMPLES for row in rows)


def test_two_ranks_share_the_problems_and_come_to_the_same_results_D02(keys, whole, tmp_path):
    done = ada("eval", "microworld", "micro", *keys, "--output", "two", "--against", str(whole), folder=tmp_path, ranks=2)
    assert done.returncode == 0, done.stdout + done.stderr
    shares = [len(path.read_text().splitlines()) for path in sorted((tmp_path / "two").glob("rows-*.jsonl"))]
    assert len(shares) == 2 and sum(shares) == PROBLEMS and min(shares) > 0
    assert read_rows(tmp_path / "two") == read_rows(whole)
    found = json.loads((tmp_path / "two" / "results.json").read_text())["results"]
    rights = [row.right for row in read_rows(whole).values()]
    assert found["heldout"]["avg"]["value"] == pytest.approx(sum(rights) / (SAMPLES * PROBLEMS))
    assert found["heldout"]["pass"]["4"]["value"] == pytest.approx(sum(right > 0 for right in rights) / PROBLEMS)
    assert set(found["heldout"]["labels"]["difficulty"]) <= set("56789")
    assert (tmp_path / "two" / "pass_at_k.png").stat().st_size > 10_000
    assert "| heldout" in done.stdout and "+0.0 [+0.0, +0.0]" in done.stdout
    assert f"problems={PROBLEMS} total={PROBLEMS}" in done.stdout and "\x1b" not in done.stdout
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["eval", "nowhere/at-all", "micro"], "no such folder here"),
        (["eval", "microworld", "micro", "max_response_tokens=4096"], "positions=4109"),
        (["eval", "microworld", "micro", "samples=0"], "samples = 0: must be greater than 0"),
        (["compare", "here", "elsewhere"], "here: no evaluation is there"),
    ],
)
def test_wrong_input_is_told_in_a_line(arguments, told, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("ada.shutdown.StopRequest.install", lambda self: self)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert told in said and said.startswith("error: ") and len(said.splitlines()) == 1
    assert not (tmp_path / "evals").exists()


def test_each_curve_of_the_picture_can_be_told_from_the_others():
    curve = [Interval(0.1 * k, 0.1 * k, 0.1 * k) for k in (1, 2)]
    for names, lines in (([f"set {i}" for i in range(12)] + [ALL], 13), (["one", ALL], 1)):
        drawn = picture(dict.fromkeys(names, curve)).axes[0].lines
        assert len(drawn) == lines == len({(line.get_color(), line.get_linestyle()) for line in drawn})
