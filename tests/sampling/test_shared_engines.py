"""Engines that several ranks hold together, on stand-ins: what their ranks agree on does not depend on when verdicts come."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from ada.engine.engines.transformers import Transformers
from ada.engine.engines.vllm import VLLM
from ada.engine.lockstep import require_whole_engines
from ada.recipe.errors import RecipeError
from tests.run.launch import ROOT, without_launcher
from tests.sampling import shared_engines
from tests.sampling.stand_in import mixed, one_after_the_other


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_two_engines_of_two_ranks_draw_what_one_rank_draws(tmp_path: Path):
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=4", "-m", shared_engines.__name__]
    ran = subprocess.run([*command, str(tmp_path / "pools")], cwd=ROOT, env=without_launcher(), capture_output=True, timeout=240, text=True)
    assert ran.returncode == 0, ran.stderr[-4000:]
    pools, cost = pickle.loads((tmp_path / "pools").read_bytes())
    asked = shared_engines.ASKED
    expected = one_after_the_other(mixed, shared_engines.SCHEDULE, "step-1", asked, [None] * len(asked))
    assert pools == expected and len({pool.outcome for pool in pools}) == 2
    assert cost.generated_tokens >= sum(len(attempt.response.token_ids) for pool in pools for attempt in pool.attempts)


@pytest.mark.parametrize(("world", "ranks"), [(1, 2), (6, 4), (3, 2)])
def test_ranks_that_are_no_whole_number_of_engines_are_refused(world, ranks):
    with pytest.raises(RecipeError, match=rf"engine.tensor_parallel = {ranks}, but the job has {world} rank\(s\).*multiple of {ranks}"):
        require_whole_engines(VLLM(tensor_parallel=ranks), world)


@pytest.mark.parametrize(("world", "ranks"), [(1, 1), (4, 2), (4, 4)])
def test_ranks_that_are_a_whole_number_of_engines_are_not(world, ranks):
    require_whole_engines(VLLM(tensor_parallel=ranks), world)
    require_whole_engines(Transformers(), world)
