"""A rank that fails, dies, hangs or is stopped ends the job: three real processes and a real store, without a model."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.slow


def job(folder: Path, what: str) -> tuple[dict[int, int], dict[int, float], str]:
    """Exit codes and seconds by rank, and what was said."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.watch.ranks", str(folder), what],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    ends = {int(rank): end for rank, end in json.loads(done.stdout.splitlines()[-1]).items()}
    return {rank: code for rank, (code, _) in ends.items()}, {rank: seconds for rank, (_, seconds) in ends.items()}, done.stderr


def stacks(folder: Path, rank: int) -> str:
    return (folder / f"stacks-rank-{rank}.txt").read_text()


def test_nothing_happens_where_nothing_is_wrong_S02(tmp_path):
    codes, _, said = job(tmp_path, "nothing")
    assert set(codes.values()) == {0} and said == "" and list(tmp_path.iterdir()) == []


def test_an_error_of_one_rank_is_told_by_all_D03(tmp_path):
    codes, seconds, said = job(tmp_path, "error")
    assert codes == {0: 1, 1: 3, 2: 1} and max(seconds.values()) < 30
    for kind in ("error", "error on rank 2"):
        assert f"{kind}: the job ends: rank 1: RuntimeError: no luck with this batch" in said
    assert all("in rank_main" in stacks(tmp_path, rank) for rank in range(3))


def test_a_rank_that_is_gone_ends_the_job_D03(tmp_path):
    codes, seconds, said = job(tmp_path, "death")
    assert codes == {0: 1, 1: -9, 2: 1} and max(seconds.values()) < 30
    assert "rank 1 (process" in said and "is gone without a word" in said and "it was last seen working" in said
    assert "in rank_main" in stacks(tmp_path, 0) and "in rank_main" in stacks(tmp_path, 2)


@pytest.mark.parametrize(("what", "code", "where"), [("stop", 1, "in faulty"), ("stuck", -9, "in a_call_that_lets_no_other_thread_run")])
def test_a_rank_without_a_sign_of_life_is_made_to_leave_its_stacks_and_to_end_D03(tmp_path, what, code, where):
    """Its launcher would wait for it. One that was stopped goes on, hears what happened and ends by itself; the other is killed."""
    codes, seconds, said = job(tmp_path, what)
    assert codes == {0: 1, 1: code, 2: 1} and max(seconds.values()) < 30
    assert "rank 1 (process" in said and "has given no sign of life for" in said and "it was last seen working" in said
    assert where in stacks(tmp_path, 1)
    assert "in rank_main" in stacks(tmp_path, 0) and "in rank_main" in stacks(tmp_path, 2)


def test_a_rank_that_hangs_ends_the_job_and_is_named_D03(tmp_path):
    codes, seconds, said = job(tmp_path, "hang")
    assert set(codes.values()) == {1} and max(seconds.values()) < 30
    assert "watch.hang_seconds = 3" in said and "while working" in said
    assert "in a_call_that_never_comes_back" in stacks(tmp_path, 1)
    assert all("in rank_main" in stacks(tmp_path, rank) for rank in (0, 2))


ALONE = """
import time
from pathlib import Path
from ada.watch.config import Watch
from ada.watch.pulse import Pulse
from ada.watch.watcher import Watcher
pulse = Pulse()
Watcher(Watch(hang_seconds=0.5), pulse, None, Path({folder!r}), 0).start()
for _ in range(20):
    time.sleep(0.1)
    pulse.mark("drawing responses")
print("worked", flush=True)
time.sleep(600)
"""


def test_one_rank_alone_is_watched_too(tmp_path):
    done = subprocess.run([sys.executable, "-c", ALONE.format(folder=str(tmp_path))], capture_output=True, text=True, timeout=60, cwd=ROOT)
    assert done.returncode == 1 and done.stdout == "worked\n"
    assert "error: the job ends: rank 0 has got no further for" in done.stderr and "while drawing responses" in done.stderr
    assert 'File "<string>", line 13' in stacks(tmp_path, 0)
