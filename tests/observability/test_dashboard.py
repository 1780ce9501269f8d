"""`ada dashboard`: its panels are the documented metrics, and what is sent is what wandb's own package writes."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys

import pytest

from ada.observability.dashboard import AXES, SECTIONS, workspace
from tests.docs.pages import ROOT, metric_patterns
from tests.docs.ways import DASHBOARD, expanded
from tests.observability.wandb_server import wandb_server

PANELS = [panel for panels in SECTIONS.values() for panel in panels]


def documented() -> list[str]:
    return metric_patterns((ROOT / "docs/metrics.md").read_text().split("\n## ")[0])


def test_every_panel_shows_a_documented_metric_and_every_metric_has_a_panel():
    patterns = documented()
    assert len(patterns) > 50
    for panel in PANELS:
        assert bool(panel.metrics) != bool(panel.pattern) and panel.axis in AXES
        unknown = [name for name in panel.metrics if not any(re.fullmatch(pattern, name) for pattern in patterns)]
        assert not unknown, unknown
    examples = {
        pattern: pattern.replace("avg@[^/]+", "avg@8").replace("pass@[^/]+", "pass@8").replace("[^/]+", "heldout") for pattern in patterns
    }
    shown = {name for panel in PANELS for name in panel.metrics}
    by_pattern = [panel.pattern for panel in PANELS if panel.pattern]
    missing = [name for name in examples.values() if name not in shown and not any(re.fullmatch(pattern, name) for pattern in by_pattern)]
    assert not missing, missing
    assert all(any(re.fullmatch(pattern, name) for name in examples.values()) for pattern in by_pattern)  # none shows nothing


def command(environment: dict[str, str], folder, *arguments: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("WANDB_")}
    home = {"HOME": str(folder), "NETRC": str(folder / "netrc")}
    return subprocess.run(
        [sys.executable, "-m", *expanded(DASHBOARD), *arguments],
        env=kept | home | environment | {"PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, [kept.get("PYTHONPATH")])])},
        capture_output=True,
        text=True,
        cwd=folder,
        timeout=200,
    )


def test_without_its_package_the_command_names_it(tmp_path, monkeypatch, capsys):
    from ada.cli import dashboard

    monkeypatch.setattr(dashboard, "find_spec", lambda name: None)
    assert dashboard.dashboard(project="ada", entity=None, name="ada") == 1
    assert "pip install wandb-workspaces" in capsys.readouterr().err


@pytest.mark.slow
def test_without_a_key_and_without_a_network_it_says_so(tmp_path):
    pytest.importorskip("wandb_workspaces")
    done = command({}, tmp_path)
    assert done.returncode == 1 and "set WANDB_API_KEY, or run `wandb login`" in done.stderr and "Traceback" not in done.stderr
    done = command({"WANDB_API_KEY": "0" * 40, "WANDB_BASE_URL": "http://127.0.0.1:9"}, tmp_path)
    assert done.returncode == 1 and "a view of ada could not be made" in done.stderr and "Traceback" not in done.stderr


@pytest.mark.slow
def test_the_view_that_the_server_gets_has_the_sections_and_axes(tmp_path):
    pytest.importorskip("wandb_workspaces")
    with wandb_server() as received:
        done = command({"WANDB_API_KEY": "0" * 40, "WANDB_BASE_URL": received.url}, tmp_path, "--name", "mine")
        assert done.returncode == 0, done.stderr
        sent = received.variables_of("upsertView")
    assert done.stdout.strip().startswith(received.url) and "/someone/ada" in done.stdout
    assert (sent["entityName"], sent["projectName"], sent["displayName"]) == ("someone", "ada", "mine")
    sections = json.loads(sent["spec"])["section"]["panelBankConfig"]["sections"]
    assert [section["name"] for section in sections] == list(SECTIONS)
    for section, panels in zip(sections, SECTIONS.values(), strict=True):
        configs = [panel["config"] for panel in section["panels"]]
        assert [config["xAxis"] for config in configs] == [panel.axis for panel in panels]
        assert [tuple(config.get("metrics", ())) for config in configs] == [panel.metrics for panel in panels]
        assert [config.get("metricRegex") for config in configs] == [panel.pattern for panel in panels]


def test_the_workspace_is_made_without_a_network():
    pytest.importorskip("wandb_workspaces")
    view = workspace("someone", "ada", "mine")
    assert [section.name for section in view.sections] == list(SECTIONS) and view.settings.x_axis == AXES[0]
