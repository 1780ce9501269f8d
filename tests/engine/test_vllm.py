"""What is particular to the vLLM engine, and what both refuse before anything is started."""

from __future__ import annotations

import dataclasses
import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import pytest
import torch
import torch.distributed as dist

from ada.config import methods
from ada.engine.engines import vllm as vllm_engine
from ada.engine.engines.transformers import Transformers
from ada.engine.engines.vllm import VLLM, logprobs_of
from ada.engine.errors import EngineError
from ada.engine.folder import read_folder
from ada.engine.generation import Generation
from ada.types import Draw, Prompt
from tests.engine.conftest import CONTEXT, ENDS, GENERATION, random_qwen2, save
from tests.engine.test_contract import assert_scores_of, finish

needs_vllm = pytest.mark.skipif(importlib.util.find_spec("vllm") is None, reason="vllm is not installed")


def test_engines_are_found_by_name() -> None:
    assert methods("ada.engine.engines") == {"vllm": VLLM, "transformers": Transformers}


@pytest.mark.parametrize("settings", [VLLM(), Transformers()], ids=["vllm", "transformers"])
def test_room_is_checked_at_the_start_G03(tied_folder: str, settings: VLLM | Transformers) -> None:
    law = dataclasses.replace(GENERATION, max_prompt_tokens=CONTEXT - 19)
    with pytest.raises(EngineError, match="max_prompt_tokens=237 .*generation.max_response_tokens=20 = 257 .* max_position_embeddings=256"):
        settings.start(tied_folder, law, "float32", seed=0)
    with pytest.raises(EngineError, match="evaluation.max_response_tokens=97 = 257 tokens"):
        settings.start(tied_folder, GENERATION, "float32", seed=0, evaluation=dataclasses.replace(GENERATION, max_response_tokens=97))


def test_all_end_ids_of_a_folder_are_known_M02(tied_folder: str) -> None:
    assert read_folder(tied_folder).end_ids == ENDS  # one from config.json, one from generation_config.json


def test_a_folder_without_an_end_id_is_refused_M02(tmp_path: Path) -> None:
    model = random_qwen2(tied=True, seed=1)
    model.config.eos_token_id = None
    save(model, str(tmp_path))
    (tmp_path / "generation_config.json").unlink()
    with pytest.raises(EngineError, match="eos_token_id"):
        read_folder(str(tmp_path))


def test_names_are_those_of_real_parameters_W03(tied_folder: str, untied_folder: str) -> None:
    tied, untied = read_folder(tied_folder), read_folder(untied_folder)
    assert untied.shapes.keys() - tied.shapes.keys() == {"lm_head.weight"}
    assert tied.aliases == {"model.embed_tokens.weight": ("lm_head.weight",)} and untied.aliases == {}
    assert tied.shapes["model.layers.0.self_attn.k_proj.weight"] == (32, 64)


@pytest.mark.parametrize("others_first", [False, True])
def test_a_logprob_is_looked_up_by_the_sampled_id_P02(others_first: bool) -> None:
    position = {7: SimpleNamespace(logprob=-2.3), 4: SimpleNamespace(logprob=-0.1)}
    assert logprobs_of([7], [dict(reversed(position.items())) if others_first else position]) == [-2.3]


def test_without_vllm_the_other_engine_is_named(tied_folder: str) -> None:
    with mock.patch.object(importlib.util, "find_spec", return_value=None), pytest.raises(EngineError, match="engine: transformers"):
        VLLM().start(tied_folder, GENERATION, "float32", seed=0)


@needs_vllm
def test_vllm_does_not_make_a_process_group_by_itself(tied_folder: str) -> None:
    with mock.patch.object(dist, "is_initialized", return_value=False), pytest.raises(EngineError, match="torch.distributed"):
        VLLM().start(tied_folder, GENERATION, "float32", seed=0)


@needs_vllm
@pytest.mark.slow
def test_an_engine_closes_and_another_starts(process_group: None, tied_folder: str, untied_folder: str) -> None:
    law = Generation(max_prompt_tokens=CONTEXT - 20, max_response_tokens=20)  # all the positions the model has
    for folder, tied in ((tied_folder, True), (untied_folder, False)):
        engine = VLLM(max_concurrent=8, cpu_kv_cache_gib=0.25).start(folder, law, "float32", seed=0)
        model = random_qwen2(tied=tied, seed=5)
        engine.load_weights(model.named_parameters(), 3)
        assert_scores_of(model, engine)  # untied: its head is a parameter of its own (W03)
        longest = Draw(Prompt("long", (5,) * (CONTEXT - 20), "", "p", ""), 0, 9)
        assert finish(engine, [longest])["long", 0].weight_version == 3
        with pytest.raises(EngineError, match="256 tokens: vLLM scores up to 255"):
            engine.score([(5,) * CONTEXT])
        with mock.patch.object(engine._vllm, "reset_prefix_cache", return_value=False), pytest.raises(EngineError, match="prefix cache"):
            engine.load_weights(model.named_parameters(), 4)
        with pytest.raises(EngineError, match="loading weight version 4 did not complete"):
            engine.submit(longest)
        engine.close()
        assert dist.is_initialized()  # it was the caller's
        total = torch.ones(1)
        dist.all_reduce(total)
        assert total.item() == dist.get_world_size()


@needs_vllm
@pytest.mark.slow
def test_prompts_that_fill_a_batch_unevenly_do_not_break_seeded_draws(process_group: None, tied_folder: str) -> None:
    """vLLM 0.32 on a CPU fails ("CPU Generator does not use offset") when the prompt of a seeded draw is read in two parts."""
    settings = VLLM(max_concurrent=16, cpu_kv_cache_gib=0.25, max_batched_tokens=200)
    engine = settings.start(tied_folder, GENERATION, "float32", seed=0)
    engine.trust_folder_weights(0)
    assert len(finish(engine, [Draw(Prompt(f"p{i}", (5 + i,) * 70, "", "p", ""), 0, i) for i in range(9)])) == 9
    engine.close()


@needs_vllm
@pytest.mark.slow
def test_two_ranks_each_with_an_engine_of_its_own_and_both_with_one(tied_folder: str) -> None:
    script = Path(__file__).with_name("two_ranks.py")
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", str(script), tied_folder]
    root = Path(vllm_engine.__file__).parents[3]
    ran = subprocess.run(command, cwd=root, env={**os.environ, "PYTHONPATH": str(root)}, capture_output=True, timeout=290, text=True)
    assert ran.returncode == 0, ran.stderr[-3000:]
    assert ran.stdout.count("rank is done") == 2
