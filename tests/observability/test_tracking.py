"""wandb: offline without a key, never the reason a run ends, never imported where it is off."""

import inspect
import json
import os
import sqlite3
import struct
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from ada.observability.tracking import Tracker, Tracking
from ada.types import StepRecord
from tests.observability.wandb_server import wandb_server

REPOSITORY = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def no_account(monkeypatch, tmp_path):
    for name in ("WANDB_API_KEY", "WANDB_MODE", "WANDB_BASE_URL", "WANDB_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("NETRC", str(tmp_path / "home" / "netrc"))


def tracked(folder, mode, environment="", limit_seconds=200, also=()):
    """Runs in a process of its own: wandb keeps state in the process. Prints: imported, faults, url."""
    body = f"""
        import logging, os, sys
        from pathlib import Path
        {environment}
        logging.basicConfig(format="%(message)s")
        from ada.observability.tracking import Tracker, Tracking
        from ada.types import StepRecord
        tracker = Tracker(Tracking(wandb={mode!r}, also={list(also)!r}), Path({str(folder)!r}), "name", {{"loss": {{"name": "clipped"}}}})
        tracker.log(StepRecord(0, {{"reward/mean": 0.0, "nothing": None}}))
        tracker.samples(0, [{{"prompt": "1+1=", "verdict": "right"}}])
        tracker.log(StepRecord(1, {{"reward/mean": 0.5, "eval/heldout/avg@8": 0.25}}))
        tracker.close(0, {{"steps": 2}})
        tracker.close()
        print("wandb" in sys.modules, tracker.faults, tracker.url)
    """
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(body)], capture_output=True, text=True, cwd=REPOSITORY, timeout=limit_seconds
    )


def logged(folder):
    """The metrics logged, a dict a step."""
    found = []
    for record in records(folder):
        if record.HasField("history"):
            items = {"/".join(item.nested_key) or item.key: json.loads(item.value_json) for item in record.history.item}
            found.append({**items, "_step": record.history.step.num})
    return found


def records(folder):
    """Out of wandb's own file: a 7-byte head, then LevelDB's log format."""
    from wandb.proto import wandb_internal_pb2

    (path,) = folder.glob("wandb/offline-run-*/run-*.wandb")
    content, place, data = path.read_bytes(), 7, b""
    while place + 7 <= len(content):
        if 32768 - place % 32768 < 7:
            place += 32768 - place % 32768
        length, kind = struct.unpack_from("<HB", content, place + 4)
        data += content[place + 7 : place + 7 + length]
        place += 7 + length
        if kind in (1, 4):  # whole, or the last part
            yield wandb_internal_pb2.Record.FromString(data)
            data = b""


def test_off_imports_nothing_and_leaves_nothing(tmp_path):
    done = tracked(tmp_path, "off")
    assert done.stdout.split() == ["False", "0", "None"], done.stderr
    assert not list(tmp_path.glob("wandb"))


@pytest.mark.slow
def test_auto_without_a_key_is_offline_inside_the_run_and_silent(tmp_path):
    done = tracked(tmp_path, "auto")
    assert done.stdout.split() == ["True", "0", "None"] and done.stderr == ""
    history = logged(tmp_path)
    assert [(row["_step"], row["step"], row["reward/mean"], "nothing" in row) for row in history] == [
        (0, 0, 0.0, False),
        (1, 1, 0.5, False),
    ]
    (table,) = (tmp_path / "wandb").glob("offline-run-*/files/media/table/samples_0_*.table.json")
    assert json.loads(table.read_text()) == {"columns": ["prompt", "verdict"], "data": [["1+1=", "right"]]}
    metrics = {record.metric.name: record.metric for record in records(tmp_path) if record.HasField("metric")}
    assert metrics.keys() == {"step", "reward/mean", "eval/heldout/avg@8"}
    for name in ("reward/mean", "eval/heldout/avg@8"):
        assert metrics[name].step_metric == "step" and metrics[name].summary.max and metrics[name].summary.last


@pytest.mark.slow
def test_other_trackers_get_the_same_by_one_line(tmp_path):
    done = tracked(tmp_path, "off", f'os.environ["TRACKIO_DIR"] = {str(tmp_path / "trackio")!r}', also=["tensorboard", "trackio", "mlflow"])
    assert "False 1 None" in done.stdout, done.stdout + done.stderr
    assert "mlflow failed (ModuleNotFoundError: its package is not installed: pip install mlflow" in done.stderr
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(tmp_path / "tensorboard"))
    events.Reload()
    assert [(event.step, event.value) for event in events.Scalars("reward/mean")] == [(0, 0.0), (1, 0.5)]
    (database,) = (tmp_path / "trackio").glob("ada*.db")
    rows = sqlite3.connect(database).execute("SELECT step, metrics FROM metrics ORDER BY step").fetchall()
    assert [(step, json.loads(metrics)["reward/mean"]) for step, metrics in rows] == [(0, 0.0), (1, 0.5)]


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["auto", "online"])
def test_a_key_without_a_network_costs_seconds_and_one_warning_N03(tmp_path, mode):
    environment = 'os.environ.update(WANDB_API_KEY="0" * 40, WANDB_BASE_URL="http://127.0.0.1:9")'
    begun = time.monotonic()
    done = tracked(tmp_path, mode, environment)
    assert time.monotonic() - begun < 30.0
    assert done.stdout.split() == ["True", "1", "None"], done.stderr
    assert done.stderr.count("could not go online") == 1 and "wandb sync" in done.stderr and "Traceback" not in done.stderr
    assert len(logged(tmp_path)) == 2


def test_faults_are_counted_and_told_once_N03(tmp_path, caplog):
    class Broken:
        offline = True

        def define_metric(self, *_, **__):
            raise ConnectionError("gone")

    tracker = Tracker(Tracking(wandb="off"), tmp_path, "name", {})
    tracker._run = Broken()
    for step in range(3):
        tracker.log(StepRecord(step, {"a": 1.0}))
    tracker.close()
    tracker.close()
    assert tracker.faults == 4  # three logs and one close, for Broken has no summary
    assert caplog.text.count("ConnectionError: gone") == 1 and len(caplog.records) == 1


def test_another_tracker_of_a_continued_run_forgets_what_came_after_the_checkpoint(tmp_path):
    """Steps 0 to 2 were written, the checkpoint is of step 1: step 2 is there once, as it came out the second time."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    settings = Tracking(wandb="off", also=["tensorboard"])
    records = [StepRecord(step, {"reward/mean": step / 4}) for step in range(3)]
    for earlier, now in (((), records), (records[:2], [StepRecord(2, {"reward/mean": 1.0})])):
        tracker = Tracker(settings, tmp_path, "name", {}, earlier=earlier)
        for record in now:
            tracker.log(record)
        tracker.close()
        assert tracker.faults == 0
    events = EventAccumulator(str(tmp_path / "tensorboard"))
    events.Reload()
    assert [(event.step, event.value) for event in events.Scalars("reward/mean")] == [(0, 0.0), (1, 0.25), (2, 1.0)]


@pytest.mark.slow  # imports wandb
def test_a_run_that_goes_on_online_asks_for_its_own_curves_and_sends_only_what_is_not_there(tmp_path, monkeypatch):
    """wandb itself checks the arguments by its own signature; there is no server here that it could ask."""
    import wandb

    from ada.observability import tracking

    class Online:
        offline, url, starting_step = False, "https://wandb.example/run", 3

        def __init__(self):
            self.logged, self.summary = [], {}

        def define_metric(self, *_, **__):
            pass

        def log(self, metrics, step):
            self.logged.append(step)

        def finish(self, exit_code):
            pass

    run, asked, signature = Online(), {}, inspect.signature(wandb.init)
    monkeypatch.setattr(wandb, "init", lambda **given: asked.update(signature.bind(**given).arguments) or run)
    monkeypatch.setattr(tracking, "check_reachable", lambda url: None)
    earlier = [StepRecord(step, {"reward/mean": 0.5}) for step in range(3)]
    tracker = Tracker(Tracking(wandb="online"), tmp_path, "name", {}, id="abcd1234", earlier=earlier)
    for step in (2, 3, 4):  # the checkpoint was older than what wandb has
        tracker.log(StepRecord(step, {"reward/mean": 0.5}))
    tracker.close()
    assert (asked["id"], asked["resume"], asked["mode"], tracker.faults) == ("abcd1234", "allow", "online", 0)
    assert run.logged == [3, 4]
    assert (tmp_path / "wandb/run-id").read_text() == "abcd1234"


CONTINUED = """
from pathlib import Path
from ada.observability.tracking import Tracker, Tracking
from ada.types import StepRecord
folder = Path({folder!r})
first = Tracker(Tracking(wandb="offline"), folder, "name", {{}})
for step in range(4):
    first.log(StepRecord(step, {{"reward/mean": step / 8}}))
first.close()
earlier = [StepRecord(step, {{"reward/mean": step / 8}}) for step in range(3)]
again = Tracker(Tracking(wandb="offline"), folder, "name", {{}}, id=first.id, earlier=earlier)
again.log(StepRecord(3, {{"reward/mean": 0.9}}))
again.close()
print(first.id == again.id, again.faults)
"""


@pytest.mark.slow
def test_a_run_that_goes_on_from_a_checkpoint_offline_is_whole_in_one_folder(tmp_path):
    """Without gaps and without steps that go back, under the same id, on a server that it is synced to later, too."""
    done = subprocess.run(
        [sys.executable, "-c", CONTINUED.format(folder=str(tmp_path))], capture_output=True, text=True, cwd=REPOSITORY, timeout=200
    )
    assert done.stdout.split() == ["True", "0"], done.stderr
    assert [(row["_step"], row["reward/mean"]) for row in logged(tmp_path)] == [(0, 0), (1, 0.125), (2, 0.25), (3, 0.9)]
    assert len(list(tmp_path.glob("wandb/superseded/offline-run-*"))) == 1
    history, error = synced(tmp_path)
    assert [(row["_step"], row["step"], row["reward/mean"]) for row in history] == [(0, 0, 0), (1, 1, 0.125), (2, 2, 0.25), (3, 3, 0.9)], (
        error
    )


def synced(folder):
    """What a server has of the runs in a folder after the command that the warning about going offline names, and what the command said."""
    with wandb_server() as received:
        done = subprocess.run(
            [sys.executable, "-m", "wandb", "sync", *map(str, folder.glob("wandb/offline-run-*"))],
            env=os.environ | {"WANDB_API_KEY": "0" * 40, "WANDB_BASE_URL": received.url},
            capture_output=True,
            text=True,
            cwd=folder,
            timeout=200,
        )
        assert done.returncode == 0, done.stderr
        return received.history(), done.stderr
