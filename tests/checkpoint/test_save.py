"""Writing a checkpoint and reading it back, with an actor of three small tensors; a disk that is full."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from ada.checkpoint.errors import CheckpointError
from ada.checkpoint.folder import fault_of, name_of, newest_whole, partial_of, settle_leftovers, steps_in
from ada.checkpoint.load import Checkpoint
from ada.checkpoint.save import save
from ada.ranks import Ranks
from tests.checkpoint.disk import Actor

ROOT = Path(__file__).parents[2]


def saved(folder: Path, step: int, **state) -> None:
    save(folder, step, Actor(), Ranks(), state, {"torch": torch.get_rng_state()}, "seed: 0\n", lambda: None)


class Loaded:
    def load_state(self, updates, read):
        self.updates, self.tensors = updates, {name: read(name) for name in ("layer0/master", "layer2/master")}


def test_what_is_read_is_what_was_written(tmp_path):
    saved(tmp_path, 50, beliefs={"a": [1.5, None]}, evaluations={0: {"x": 0.5}})
    assert [path.name for path in tmp_path.iterdir()] == ["step-000050"]
    found = Checkpoint(tmp_path, 50)
    assert found.state == {"beliefs": {"a": [1.5, None]}, "evaluations": {0: {"x": 0.5}}, "updates": 7, "world": 1}
    found.restore_actor(actor := Loaded())
    assert actor.updates == 7
    assert all(torch.equal(actor.tensors[f"layer{n}/master"], torch.full((2**16,), float(n))) for n in (0, 2))
    assert torch.equal(found.randomness(0)["torch"], torch.get_rng_state())
    assert found.randomness(1) is None
    assert found.recipe.read_text() == "seed: 0\n" and (found.folder / "huggingface/model.safetensors").stat().st_size == 2**18


def test_a_step_that_is_saved_again_replaces_itself(tmp_path):
    saved(tmp_path, 1, was="first")
    saved(tmp_path, 1, was="second")
    assert Checkpoint(tmp_path, 1).state["was"] == "second" and fault_of(tmp_path / name_of(1)) is None
    assert [path.name for path in tmp_path.iterdir()] == ["step-000001"]


def test_killed_at_any_moment_of_saving_a_step_again_a_whole_checkpoint_is_left_C01(tmp_path, monkeypatch):
    """Killed before each call that renames or removes anything, one after the other; what is left is read as the next start reads it."""

    class Kill(BaseException):
        pass

    left = 0

    def killing(real):
        def call(*args, **keys):
            nonlocal left
            left -= 1
            if left < 0:
                raise Kill
            return real(*args, **keys)

        return call

    found = []
    for calls in range(100):
        folder = tmp_path / str(calls)
        folder.mkdir()
        saved(folder, 1, was="first")
        with monkeypatch.context() as patch:
            for name in ("rename", "unlink", "rmdir"):
                patch.setattr(os, name, killing(getattr(os, name)))
            left = calls
            try:
                saved(folder, 1, was="second")
                killed = False
            except Kill:
                killed = True
        settle_leftovers(folder)
        assert newest_whole(folder) == (1, []) and [path.name for path in folder.iterdir()] == ["step-000001"]
        found.append(Checkpoint(folder, 1).state["was"])
        if not killed:
            break
    assert not killed and len(found) > 8 and found == ["first"] + ["second"] * (len(found) - 1)


def test_the_name_comes_last_C01(tmp_path, monkeypatch):
    """Until the rename nothing of the new checkpoint is visible, and what an attempt before left is not in it."""
    saved(tmp_path, 1)
    remains = partial_of(tmp_path, 2)
    remains.mkdir()
    (remains / "random-00007.pt").write_text("of a rank that is no more")
    seen = []
    real = os.rename

    def rename(source, target):
        seen.append((steps_in(tmp_path), sorted(p.name for p in Path(source).iterdir()), (Path(source) / "SHA256SUMS").exists()))
        real(source, target)

    monkeypatch.setattr(os, "rename", rename)
    saved(tmp_path, 2)
    files = ["SHA256SUMS", "actor", "huggingface", "random-00000.pt", "recipe.yaml", "state.pt"]
    assert seen == [([1], files, True)]
    assert newest_whole(tmp_path) == (2, [])


@pytest.mark.parametrize("at", ["actor", "huggingface", "state.pt"])
def test_a_fault_while_saving_loses_nothing(tmp_path, monkeypatch, at):
    saved(tmp_path, 1)
    write = Path.write_bytes

    def failing(path, data):
        if at in str(path):
            raise OSError(28, "No space left on device")
        return write(path, data)

    def failing_file(tensors, path):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", failing)
    if at == "actor":
        monkeypatch.setattr("ada.checkpoint.save.save_file", failing_file)
    with pytest.raises(CheckpointError, match="step 2 could not be written .*No space left"):
        saved(tmp_path, 2)
    assert [path.name for path in tmp_path.iterdir()] == ["step-000001"] and fault_of(tmp_path / name_of(1)) is None


@pytest.mark.slow
def test_a_full_disk_loses_nothing_and_says_so(tmp_path):
    """A real one, with the real libraries."""
    if shutil.which("unshare") is None or subprocess.run(["unshare", "-rm", "true"], capture_output=True).returncode:
        pytest.skip("this machine allows no mount namespace")
    script = f"mount -t tmpfs -o size=3m tmpfs {tmp_path} && exec {sys.executable} -m tests.checkpoint.disk {tmp_path}"
    done = subprocess.run(
        ["unshare", "-rm", "sh", "-c", script], capture_output=True, text=True, cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT)}
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["seen"][:2] == ["saved", "saved"]
    assert all("could not be written" in told and "o space left" in told for told in found["seen"][2:])
    assert found["whole"] == [1, 2] and found["there"] == ["step-000001", "step-000002"]
