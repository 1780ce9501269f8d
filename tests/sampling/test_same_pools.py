"""With real engines and reward workers: how many draws of a prompt run at once changes nothing in any pool, to the bit."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from functools import partial

import pytest
import torch
from transformers import AutoTokenizer

from ada.data.microworld import BASE
from ada.data.prompts import PromptFormat, load_prompts
from ada.data.sources.microworld import Microworld
from ada.engine.base import GuardedEngine
from ada.engine.engines.transformers import Transformers
from ada.engine.engines.vllm import VLLM
from ada.engine.generation import Generation
from ada.ranks import Ranks
from ada.rewards.config import Reward
from ada.rewards.service import RewardService
from ada.sampling.collector import Collector
from ada.sampling.schedules.seq import Seq
from ada.sampling.seeds import seed_of
from ada.sampling.windows import BeliefWindow, fixed
from ada.trainer.distributed import start_distributed
from ada.types import Attempt, Draw, PassRate, Pool, Prompt

pytestmark = pytest.mark.slow

GENERATION = Generation(max_prompt_tokens=13, max_response_tokens=20)
SCHEDULE = Seq(exit="balance", check_every=4, max_draws=32, positives=2)
SEED, NAME, EVERY = 11, "step-1", 86
WINDOWS = [4, 8, 16, 32]


@pytest.fixture(scope="module")
def rewards() -> Iterator[RewardService]:
    service = RewardService(Reward(workers=1))
    yield service
    service.close()


@pytest.fixture(scope="module")
def tokenizer():
    return AutoTokenizer.from_pretrained(BASE)


@pytest.fixture(scope="module")
def prompts(tokenizer) -> list[Prompt]:
    return load_prompts(Microworld(), "microworld", PromptFormat(), tokenizer, 13)[::EVERY]


@pytest.fixture(scope="module", params=["transformers", "vllm"])
def engine(request: pytest.FixtureRequest) -> Iterator[GuardedEngine]:
    if request.param == "vllm":
        if importlib.util.find_spec("vllm") is None:
            pytest.skip("vllm is not installed")
        start_distributed()
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    settings = Transformers(max_concurrent=64) if request.param == "transformers" else VLLM(max_concurrent=64, cpu_kv_cache_gib=0.25)
    started = settings.start(str(BASE), GENERATION, "float32", seed=0)
    started.trust_folder_weights(0)
    yield started
    started.close()
    torch.set_num_threads(threads)


def one_after_the_other(engine: GuardedEngine, rewards: RewardService, decode, prompts: list[Prompt]) -> list[Pool]:
    """A draw is asked for, awaited and scored before the next one starts."""
    pools = [Pool(prompt, budget=SCHEDULE.max_draws, seed=seed_of(SEED, "pool", NAME, prompt.id)) for prompt in prompts]
    for pool in pools:
        while pool.outcome is None:
            engine.submit(Draw(pool.prompt, pool.drawn, seed_of(SEED, "draw", NAME, pool.prompt.id, pool.drawn)))
            while not (finished := engine.step()):
                pass
            (response,) = finished
            text = decode(response.token_ids)
            if response.finish_reason == "length":
                pool.attempts.append(Attempt(response, text, 0.0, right=False))
            else:
                key = ("sequential", pool.prompt.id, pool.drawn)
                rewards.submit(key, text, pool.prompt.answer)
                while key not in (verdicts := dict(rewards.poll(30.0))):
                    pass  # surplus draws of the other engine's test
                verdict = verdicts[key]
                pool.attempts.append(Attempt(response, text, verdict.reward, verdict.right, verdict.failure, verdict.parts))
            if pool.drawn % SCHEDULE.check_every == 0:
                pool.rounds += 1
                pool.outcome = SCHEDULE.stop(pool)
    return pools


def test_pools_are_those_of_sequential_sampling_token_for_token(engine, rewards, tokenizer, prompts):
    decode = partial(tokenizer.decode, skip_special_tokens=True)
    expected = one_after_the_other(engine, rewards, decode, prompts)
    assert {pool.outcome for pool in expected} == {"resolved", "exhausted"}  # else no window could make a difference
    assert any(pool.drawn < SCHEDULE.max_draws for pool in expected)
    believed = [PassRate(0.2, 8.0)] * len(prompts)
    for window in (*WINDOWS, "belief"):
        collector = Collector(engine, rewards, decode, Ranks(), seed=SEED, max_concurrent=64)
        draws = BeliefWindow(SCHEDULE, 0.8) if window == "belief" else fixed(window)
        pools, cost = collector.collect(NAME, prompts, SCHEDULE, window=draws, believe=lambda asked: believed)
        for pool in pools:
            pool.belief = None
        assert pools == expected, window  # tokens, log-probs, verdicts, rounds and outcomes
        assert (cost.surplus > 0) == (window != 4)
