"""The base model's pass rate on each problem, by the engine, the rewards and the collector of training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ada.prepare.journal import Drawn, Journal
from ada.prepare.progress import Bar
from ada.sampling.collector import Collector
from ada.sampling.schedules.uniform import Uniform
from ada.types import Pool, Prompt

WAVES = 4  # of as many draws as the engine decodes together, between two entries in the journal


def draw(
    prompts: Sequence[Prompt], collector: Collector, draws: int, journal: Journal | None, known: Mapping[str, Drawn]
) -> dict[str, Drawn]:
    """Of each problem, by prompt id, what `draws` responses came to. `known`: those of an earlier call. Collective; raises Stopped.

    A draw's seed depends on the run's seed, the prompt and its index alone, so it makes no difference what is drawn in which call.
    """
    ranks = collector.ranks
    found = {prompt.id: known[prompt.id] for prompt in prompts if prompt.id in known}
    waiting = [prompt for prompt in prompts if prompt.id not in found]
    at_once = ranks.world // collector.engine.ranks * max(8, WAVES * collector.max_concurrent // draws)
    with Bar("draws", len(prompts), len(found), quiet=not ranks.first) as bar:
        for start in range(0, len(waiting), at_once):
            pools, _ = collector.collect("prepare", waiting[start : start + at_once], Uniform(draws=draws))
            new = [drawn(pool) for pool in pools]
            found |= {one.id: one for one in new}
            if journal:
                journal.note_drawn(new)
            judged = sum(one.judged for one in found.values())
            bar.advance(len(new), f"pass rate {sum(one.right for one in found.values()) / max(1, judged):.3f}")
    return found


def drawn(pool: Pool) -> Drawn:
    return Drawn(
        id=pool.prompt.id,
        right=pool.right,
        wrong=pool.wrong,
        unknown=pool.drawn - pool.right - pool.wrong,
        cut_off=sum(attempt.response.finish_reason == "length" for attempt in pool.attempts),
        tokens=sum(len(attempt.response.token_ids) for attempt in pool.attempts),
    )
