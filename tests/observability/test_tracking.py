"""wandb: offline without a key, never the reason a run ends, never imported where it is off."""

import json
import struct
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from ada.observability.tracking import Tracker, Tracking
from ada.types import StepRecord

REPOSITORY = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def no_account(monkeypatch, tmp_path):
    for name in ("WANDB_API_KEY", "WANDB_MODE", "WANDB_BASE_URL", "WANDB_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("NETRC", str(tmp_path / "home" / "netrc"))


def tracked(folder, mode, environment="", limit_seconds=60):
    """Runs in a process of its own: wandb keeps state in the process. Prints: imported, faults, url."""
    body = f"""
        import logging, os, sys
        from pathlib import Path
        {environment}
        logging.basicConfig(format="%(message)s")
        from ada.observability.tracking import Tracker, Tracking
        from ada.types import StepRecord
        tracker = Tracker(Tracking(wandb={mode!r}), Path({str(folder)!r}), "name", {{"loss": {{"name": "clipped"}}}})
        tracker.log(StepRecord(0, {{"reward/mean": 0.0, "nothing": None}}))
        tracker.log(StepRecord(1, {{"reward/mean": 0.5}}))
        tracker.close(0, {{"steps": 2}})
        tracker.close()
        print("wandb" in sys.modules, tracker.faults, tracker.url)
    """
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(body)], capture_output=True, text=True, cwd=REPOSITORY, timeout=limit_seconds
    )


def logged(folder):
    """The metrics logged, a dict a step, out of wandb's own file: a 7-byte head, then LevelDB's log format."""
    from wandb.proto import wandb_internal_pb2

    (path,) = folder.glob("wandb/offline-run-*/run-*.wandb")
    content, place, data, found = path.read_bytes(), 7, b"", []
    while place + 7 <= len(content):
        if 32768 - place % 32768 < 7:
            place += 32768 - place % 32768
        length, kind = struct.unpack_from("<HB", content, place + 4)
        data += content[place + 7 : place + 7 + length]
        place += 7 + length
        if kind in (1, 4):  # whole, or the last part
            record = wandb_internal_pb2.Record.FromString(data)
            data = b""
            if record.HasField("history"):
                items = {"/".join(item.nested_key) or item.key: json.loads(item.value_json) for item in record.history.item}
                found.append({**items, "_step": record.history.step.num})
    return found


def test_off_imports_nothing_and_leaves_nothing(tmp_path):
    done = tracked(tmp_path, "off")
    assert done.stdout.split() == ["False", "0", "None"], done.stderr
    assert not list(tmp_path.glob("wandb"))


@pytest.mark.slow
def test_auto_without_a_key_is_offline_inside_the_run_and_silent(tmp_path):
    done = tracked(tmp_path, "auto")
    assert done.stdout.split() == ["True", "0", "None"] and done.stderr == ""
    history = logged(tmp_path)
    assert [(row["_step"], row["reward/mean"], "nothing" in row) for row in history] == [(0, 0.0, False), (1, 0.5, False)]


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

        def log(self, *_, **__):
            raise ConnectionError("gone")

    tracker = Tracker(Tracking(wandb="off"), tmp_path, "name", {})
    tracker._run = Broken()
    for step in range(3):
        tracker.log(StepRecord(step, {"a": 1.0}))
    tracker.close()
    tracker.close()
    assert tracker.faults == 4  # three logs and one close, for Broken has no summary
    assert caplog.text.count("ConnectionError: gone") == 1 and len(caplog.records) == 1
