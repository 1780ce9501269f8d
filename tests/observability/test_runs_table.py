"""`ada runs`: runs in every state, in the order in which they wrote last."""

from __future__ import annotations

import json
import os
import re
import time

from ada.cli.runs import runs
from ada.observability.runs_table import COLUMNS, rows


def write(root, name, steps, age_seconds, summary=None, tail=""):
    folder = root / name
    folder.mkdir(parents=True)
    (folder / "recipe.yaml").write_text("steps: 4\n")
    (folder / "metrics.jsonl").write_text("".join(json.dumps(step) + "\n" for step in steps) + tail)
    if summary is not None:
        (folder / "summary.json").write_text(json.dumps(summary))
    then = time.time() - age_seconds
    os.utime(folder / "metrics.jsonl", (then, then))


def step(number, reward, **others):
    return {"step": number, "reward/mean": reward, "total/generated_tokens": 1000 * number, "total/seconds": 30.0 * number, **others}


HELD_OUT = "eval/heldout/avg@8"


def test_key_figures_and_states(tmp_path):
    trained = [{"step": 0, HELD_OUT: 0.2}, step(1, 0.25, **{"signal/zero_gradient_fraction": 0.5}), step(2, 0.75, **{HELD_OUT: 0.5})]
    write(tmp_path, "whole", trained, 4000, {"stopped_by": None})
    write(tmp_path, "ended", trained[:2], 3000, {"stopped_by": "SIGTERM"})
    write(tmp_path, "broken", [*trained, {"step": 3, "error": "ValueError: x"}], 2000)
    write(tmp_path, "killed", trained[:1], 1000)
    write(tmp_path, "going", trained[:2], 1, tail='{"step": 2, "rew')
    write(tmp_path, "started", [], 0)
    found = {row[0]: row[1:] for row in rows(tmp_path)}
    assert list(found) == ["whole", "ended", "broken", "killed", "going", "started"]
    assert found["whole"] == ["done", "2/4", "0.500", "50 %", "0.200 -> 0.500", "2k", "1:00"]
    assert found["ended"] == ["stopped: SIGTERM", "1/4", "0.250", "50 %", "0.200", "1k", "0:30"]
    assert found["broken"][:2] == ["failed", "2/4"]
    assert found["killed"] == ["silent for 16:40", "0/4", "–", "–", "0.200", "–", "–"]
    assert found["going"][:2] == ["running", "1/4"]
    assert found["started"] == ["running", "0/4", "–", "–", "–", "–", "–"]


def test_the_command(tmp_path, capsys):
    assert runs(str(tmp_path)) == 2
    assert "no run is there" in capsys.readouterr().err
    write(tmp_path, "whole", [step(1, 0.5)], 10, {"stopped_by": None})
    assert runs(str(tmp_path)) == 0
    said = capsys.readouterr().out.splitlines()
    (row,) = rows(tmp_path)
    assert [re.split(" {2,}", line.strip()) for line in said] == [list(COLUMNS), row]  # in a pipe, two spaces or more part the columns
