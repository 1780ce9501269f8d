"""The collector, with the real engine and reward workers, against vLLM's own way through the same requests."""

from __future__ import annotations

from typing import Any

from ada.engine.engines.vllm import VLLMEngine
from ada.engine.isolation import compiling
from ada.run import Run
from ada.sampling.schedules.uniform import Uniform
from ada.sampling.seeds import seed_of
from ada.types import Draw
from benchmarks.interleaved import Comparison, interleaved

PROMPTS, DRAWS = 64, 8


def collector_against_plain(run: Run, pairs: int) -> Comparison:
    """Tokens per second of `Collector.collect`, scoring included, and of what `LLM.generate` does: add all requests, step to the end.

    Same process, engine, prompts, seeds and law. Raises AssertionError where the two did not draw the same tokens.
    """
    prompts = run.selector.next(PROMPTS)
    engine: Any = run.engine
    assert isinstance(engine, VLLMEngine)
    drawn: dict[int, list[tuple[int, ...]]] = {}

    def ours(pair: int) -> int:
        pools, cost = run.collector.collect(f"pair-{pair}", prompts, Uniform(draws=DRAWS))
        _same(drawn, pair, [a.response.token_ids for pool in pools for a in pool.attempts])
        return cost.generated_tokens

    def plain(pair: int) -> int:
        draws = [Draw(p, d, seed_of(run.recipe.seed, "draw", f"pair-{pair}", p.id, d)) for p in prompts for d in range(DRAWS)]
        names = [f"{pair}/{draw.prompt.id}/{draw.index}" for draw in draws]
        for name, draw in zip(names, draws, strict=True):
            engine._vllm.add_request(name, {"prompt_token_ids": list(draw.prompt.token_ids)}, engine._sampling(draw))
        outputs: dict[str, tuple[int, ...]] = {}
        with compiling(not engine._eager):
            while engine._vllm.has_unfinished_requests():
                output: Any
                for output in engine._vllm.step():
                    outputs[output.request_id] = tuple(output.outputs[0].token_ids)
        _same(drawn, pair, [outputs[name] for name in names])
        return sum(map(len, outputs.values()))

    return interleaved(ours, plain, pairs)


def _same(drawn: dict[int, list[tuple[int, ...]]], pair: int, tokens: list[tuple[int, ...]]) -> None:
    assert drawn.setdefault(pair, tokens) == tokens, f"pair {pair}: the collector and plain vLLM drew different tokens"
