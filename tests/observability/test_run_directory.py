"""The run's folder: strict JSON whatever is measured, no torn line whatever ends the run, nothing overwritten."""

import json
import logging
import os
import signal
import subprocess
import sys
import textwrap
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import torch

from ada.observability import json_lines
from ada.observability.run_directory import RunDirectory
from ada.recipe.errors import RecipeError
from ada.types import Attempt, Prompt, Response
from tests.sampling.pools import pool

REPOSITORY = Path(__file__).parents[2]


def refuse(word):
    raise AssertionError(f"{word} is not JSON")


def rows(path):
    return [json.loads(line, parse_constant=refuse) for line in path.read_text(encoding="utf-8").split("\n")[:-1]]


def write_metrics(run, step, metrics):
    with run.measuring(step) as written:
        written |= metrics


def test_every_line_is_strict_json_N03(tmp_path):
    run = RunDirectory.fresh(tmp_path, "run")
    measured = {
        "nan": float("nan"),
        "inf": -np.inf,
        "zero": 0.0,
        "numpy float": np.float32(0.5),
        "numpy int": np.int64(3),
        "numpy bool": np.bool_(True),
        "torch": torch.tensor(0.25, dtype=torch.bfloat16),
        "torch nan": torch.tensor(float("nan")),
        "array": np.array([1.0, np.nan]),
        "text": "a\nb\u2028",
        "path": Path("x"),
        "missing": None,
    }
    write_metrics(run, 0, measured)
    expected = {"step": 0, "nan": None, "inf": None, "zero": 0.0, "numpy float": 0.5, "numpy int": 3, "numpy bool": True, "torch": 0.25}
    expected |= {"torch nan": None, "array": [1.0, None], "text": "a\nb\u2028", "path": "x", "missing": None}
    assert rows(run.path / "metrics.jsonl") == [expected]


def test_a_step_that_fails_leaves_its_metrics_and_the_reason_N03(tmp_path, caplog):
    run = RunDirectory.fresh(tmp_path, "run")
    with run.measuring(2) as metrics:
        metrics["reward/mean"] = 0.25
    with pytest.raises(KeyError), run.measuring(3) as metrics:
        metrics["reward/mean"] = np.float64(0.5)
        raise KeyError("loss")
    with pytest.raises(KeyboardInterrupt), run.measuring(4) as metrics:
        raise KeyboardInterrupt
    assert rows(run.path / "metrics.jsonl") == [
        {"step": 2, "reward/mean": 0.25},
        {"step": 3, "reward/mean": 0.5, "error": "KeyError: 'loss'"},
        {"step": 4, "error": "KeyboardInterrupt: "},
    ]
    assert "Traceback" in caplog.text and "KeyError: 'loss'" in caplog.text


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGKILL])
def test_a_killed_run_loses_at_most_the_line_it_was_writing_N03(tmp_path, sent):
    body = f"""
        from ada.observability.run_directory import RunDirectory
        run = RunDirectory.fresh({str(tmp_path)!r}, "run")
        step = 0
        while True:
            with run.measuring(step) as metrics:
                metrics |= {{f"metric {{i}}": step + 0.1 * i for i in range(300)}}
            step += 1
    """
    process = subprocess.Popen([sys.executable, "-c", textwrap.dedent(body)], cwd=REPOSITORY, stderr=subprocess.DEVNULL)
    path = tmp_path / "run" / "metrics.jsonl"
    deadline = time.monotonic() + 30
    while not (path.exists() and path.stat().st_size > 200_000):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    process.send_signal(sent)
    process.wait(10)
    whole = path.read_bytes().count(b"\n")
    write_metrics(RunDirectory.open(tmp_path, "run"), whole, {})
    assert [row["step"] for row in rows(path)] == list(range(len(rows(path))))


def test_a_full_disk_is_counted_told_once_and_tears_no_line(tmp_path, monkeypatch, caplog):
    run = RunDirectory.fresh(tmp_path, "run")
    write_metrics(run, 0, {"a": 1.0})
    write = os.write
    with monkeypatch.context() as patch:
        patch.setattr(json_lines.os, "write", lambda descriptor, data: write(descriptor, data[:5]))
        for step in (1, 2):
            write_metrics(run, step, {"a": 1.0})
    write_metrics(run, 3, {"a": 1.0})
    assert run.faults == {"metrics.jsonl": 2}
    assert caplog.text.count("could not be written") == 1
    assert [row["step"] for row in rows(run.path / "metrics.jsonl")] == [0, 3]


def test_a_name_that_is_taken_gets_a_number(tmp_path):
    assert [RunDirectory.fresh(tmp_path / "runs", "micro").name for _ in range(3)] == ["micro", "micro-2", "micro-3"]


def test_runs_that_start_together_get_different_folders(tmp_path):
    with ThreadPoolExecutor(8) as threads:
        names = list(threads.map(lambda _: RunDirectory.fresh(tmp_path, "micro").name, range(24)))
    assert len(set(names)) == 24


def test_a_run_is_written_by_one_process_at_a_time(tmp_path):
    run = RunDirectory.open(tmp_path, "run")
    write_metrics(run, 0, {})
    with pytest.raises(FileExistsError, match="another process is writing this run"):
        RunDirectory.open(tmp_path, "run")
    with pytest.raises(FileNotFoundError, match="Runs in .*: run"):
        RunDirectory.open(tmp_path, "rnu", must_exist=True)
    run.close()
    run.close()
    write_metrics(RunDirectory.open(tmp_path, "run", must_exist=True), 1, {})
    assert [row["step"] for row in rows(run.path / "metrics.jsonl")] == [0, 1]


def test_a_run_that_begins_anew_keeps_what_was_there_C06(tmp_path):
    run = RunDirectory.open(tmp_path, "run")
    assert run.begin_anew() is None
    for number in (1, 2):
        write_metrics(run, 0, {"a": number})
        run.close()
        run = RunDirectory.open(tmp_path, "run")
        earlier = run.begin_anew()
        assert earlier == run.path / f"earlier-{number}"
        assert [row["a"] for row in rows(earlier / "metrics.jsonl")] == [number]
    assert sorted(path.name for path in run.path.iterdir()) == ["earlier-1", "earlier-2"]


@pytest.mark.parametrize("name", ["", "a/b", "..", ".hidden", "/root"])
def test_a_name_is_one_folder(tmp_path, name):
    with pytest.raises(RecipeError, match=f"run_name = {name!r}: allowed is the name of one folder"):
        RunDirectory.fresh(tmp_path, name)


def test_a_continued_run_drops_the_steps_it_writes_anew(tmp_path):
    run = RunDirectory.fresh(tmp_path, "run")
    for step in range(5):
        write_metrics(run, step, {"a": float(step)})
    run.close()
    with (run.path / "metrics.jsonl").open("a") as file:
        file.write('{"step": 5, "a"')  # as after a power cut
    again = RunDirectory.open(tmp_path, "run")
    again.rewind(2)
    assert again.rows() == [{"step": step, "a": float(step)} for step in range(3)]
    write_metrics(again, 3, {"a": 30.0})
    assert [(row["step"], row["a"]) for row in rows(run.path / "metrics.jsonl")] == [(0, 0.0), (1, 1.0), (2, 2.0), (3, 30.0)]
    again.rewind(3, measured=False)
    assert [row["step"] for row in again.rows()] == [0, 1, 2]


def test_a_torn_end_does_not_spoil_the_next_line(tmp_path):
    run = RunDirectory.fresh(tmp_path, "run")
    (run.path / "metrics.jsonl").write_text('{"step": 0}\n{"step": 1, "rew')
    write_metrics(run, 1, {})
    assert rows(run.path / "metrics.jsonl") == [{"step": 0}, {"step": 1}]


def test_samples_say_what_was_asked_written_and_judged(tmp_path):
    prompt = Prompt("micro/1", (1, 2), "7", "micro", "3+4=")
    attempts = [
        Attempt(Response("micro/1", 0, (5, 6), (-0.1, -0.2), "stop", 3), "7", 1.0, True),
        Attempt(Response("micro/1", 1, (5,), (-0.1,), "length", 3), "8 \ud800", 0.0, False),
        Attempt(Response("micro/1", 2, (5,), (-0.1,), "stop", 3), "9", 0.0, False, "timeout"),
    ]
    run = RunDirectory.fresh(tmp_path, "run")
    run.write_samples(4, [(prompt, attempt) for attempt in attempts])
    written = rows(run.path / "samples.jsonl")
    assert [(row["draw"], row["verdict"], row["reward"]) for row in written] == [(0, "right", 1.0), (1, "wrong", 0.0), (2, "timeout", None)]
    expected = {"step": 4, "prompt_id": "micro/1", "draw": 0, "verdict": "right", "reward": 1.0, "prompt": "3+4=", "response": "7"}
    assert written[0] == expected | {"answer": "7", "finish_reason": "stop", "tokens": 2, "parts": {}}


def test_pools_say_each_draw_and_rewind_with_the_metrics(tmp_path):
    run = RunDirectory.fresh(tmp_path, "run")
    for step in (1, 2, 3):
        run.write_pools(step, [pool("WRF", "a/1", belief=0.25), pool("R" * step, "a/2")])
    run.rewind(2)
    run.close()
    written = rows(run.path / "pools.jsonl")
    assert [row["step"] for row in written] == [1, 2]
    first = {"step": 1, "prompts": ["a/1", "a/2"], "verdicts": ["WRF", "R"], "outcomes": [None, None], "beliefs": [0.25, None]}
    assert written[0] == first


def test_the_summary_is_replaced_whole(tmp_path, monkeypatch):
    run = RunDirectory.fresh(tmp_path, "run")
    run.write_summary({"steps": np.int64(3), "nan": float("nan")})
    monkeypatch.setattr(json_lines.os, "fsync", lambda _: (_ for _ in ()).throw(OSError("disk full")))
    run.write_summary({"steps": 4})
    assert json.loads((run.path / "summary.json").read_text()) == {"steps": 3, "nan": None}
    assert [path.name for path in run.path.iterdir()] == ["summary.json"] and run.faults == {"summary.json": 1}


def test_the_log_takes_all_of_rank_0_and_the_warnings_of_others(tmp_path):
    body = """
        import logging, sys, warnings
        from pathlib import Path
        from ada.observability.logs import start_logging
        rank = int(sys.argv[1])
        start_logging(Path("log.txt"), rank)
        logging.getLogger("ada.trainer").info("info of %d", rank)
        logging.getLogger("ada.trainer").warning("warning of %d", rank)
        logging.getLogger("library").info("library info")
        logging.getLogger("library").warning("library warning of %d", rank)
        warnings.warn(f"python warning of {rank}")
    """
    shown = []
    for rank in "01":
        done = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(body), rank],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
        )
        shown.append(done.stdout + done.stderr)
    text = (tmp_path / "log.txt").read_text()
    assert "info of 0" in text and "info of 1" not in text and "library info" not in text
    for rank in "01":
        for line in (f"rank {rank} WARNING ada.trainer: warning of {rank}", f"library warning of {rank}", f"python warning of {rank}"):
            assert line in text
    assert shown == ["warning: warning of 0\n", ""]


def test_logging_twice_writes_once(tmp_path):
    from ada.observability.logs import start_logging, stop_logging

    for _ in range(2):
        start_logging(tmp_path / "log.txt")
    logging.getLogger("ada.x").info("once")
    stop_logging()
    assert (tmp_path / "log.txt").read_text().count("once") == 1
