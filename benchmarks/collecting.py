"""Every way to order the draws of Seq-balance, with the real engine and reward workers on the same draws, beside what the model says.

The model gets this machine's decoding cost, measured here, and each draw's length and verdict as they were; it knows nothing of the times.
"""

from __future__ import annotations

import dataclasses
import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from ada.run import Run
from ada.sampling.collector import Collector
from ada.sampling.schedules.seq import Seq
from ada.sampling.schedules.uniform import Uniform
from ada.simulation.costs import UpdateCost
from ada.simulation.samplers import Sampler, standard
from ada.simulation.setting import PAPER, Setting
from ada.simulation.steps import Job, StepForecast
from ada.types import Draw, PassRate, Prompt
from benchmarks.decode_cost import Watched, decode_cost
from benchmarks.streaming import Known, measured, predicted

BATCHES, TURNS, TOGETHER, PAST = 2, 4, (1, 4, 16, 64, 128), 8
SEQ = Seq(exit="balance", check_every=4, max_draws=32, positives=2)
Believe = Callable[[Sequence[Prompt]], list[PassRate]]
AGAINST = ("GRPO-n4", "GRPO-n16")
MOST_OPEN = 2.0


@dataclass
class Way:
    sampler: Sampler
    predicted: list[StepForecast] = field(default_factory=list)  # of each batch
    timed: dict[tuple[int, int], list[float]] = field(default_factory=lambda: defaultdict(list))  # seconds, by batch and turn
    steps: list[int] = field(default_factory=list)
    tokens: list[int] = field(default_factory=list)
    aborted: list[int] = field(default_factory=list)

    def seconds(self, batch: int, turn: int) -> float:
        return statistics.median(self.timed[batch, turn])


def ways_to_collect(run: Run, say: Callable[[str], None]) -> None:
    watched = Watched(run.engine)
    real = run.collector
    collector = Collector(watched, real.rewards, real.decode, real.ranks, seed=real.seed, max_concurrent=real.max_concurrent)
    batches = [run.selector.next(run.recipe.batch.prompts_per_step) for _ in range(BATCHES)]
    more = [run.selector.next(run.recipe.batch.prompts_per_step) for _ in range(BATCHES)]
    cost, start = decode_cost(watched, collector, batches[0], TOGETHER)
    verdict = _verdict_seconds(real, batches[0][0])
    say(f"decoding step: {', '.join(f'{1000 * cost(n):.1f} ms with {n}' for n in TOGETHER)} draws running")
    say(f"draws that begin: {1000 * start.per_step:.2f} ms a step, {1000 * start.per_draw:.2f} ms each; verdicts: {1000 * verdict:.1f} ms")
    setting = dataclasses.replace(
        PAPER,
        slots=real.max_concurrent,
        decode=cost,
        start=start,
        verdict_seconds=verdict,
        update=UpdateCost(0.0, 0.0),
        lengths=dataclasses.replace(PAPER.lengths, longest=run.recipe.generation.max_response_tokens),
    )
    ways = [Way(sampler) for sampler in standard(SEQ) if sampler.streaming is None]
    beliefs = [_beliefs(collector, prompts) for prompts in batches]
    for batch, prompts in enumerate(batches):
        law = _all_draws(collector, _name(batch), prompts)
        for way in ways:
            way.predicted.append(_predicted(setting, law, way.sampler, run.recipe.seed, _name(batch), prompts, beliefs[batch]))
    for turn in range(TURNS):
        for batch, prompts in enumerate(batches):
            for way in ways[1:][:: -1 if turn % 2 else 1]:
                for each in (way, ways[0]):  # GRPO-n4 after each: it is too short for one to say much
                    _measure(each, (batch, turn), watched, collector, prompts, beliefs[batch])
    for line in _table(ways):
        say(line)
    known = Known(collector, [prompt for prompts in (*batches, *more) for prompt in prompts])
    for sampler in (sampler for sampler in standard(SEQ) if sampler.streaming and sampler.streaming.open <= MOST_OPEN):
        pairs = measured(
            collector, sampler, len(batches[0]), known, lambda: _measure(ways[0], (0, TURNS), watched, collector, batches[0], beliefs[0])
        )
        ratio = sum(step for step, _ in pairs) / sum(other for _, other in pairs)
        model = statistics.mean(predicted(setting, sampler, len(batches[0]), known)) / ways[0].predicted[0].rollout_seconds
        say(f"{sampler.label:<28}{_cells(ratio, model, [step / other / model for step, other in pairs])}")


def _measure(way: Way, when: tuple[int, int], watched: Watched, collector: Collector, prompts: Sequence[Prompt], beliefs: Believe) -> None:
    watched.begin()
    began = time.perf_counter()
    sampler = way.sampler
    _, cost = collector.collect(_name(when[0]), prompts, sampler.schedule, window=sampler.window, believe=beliefs)
    way.timed[when].append(time.perf_counter() - began)
    way.steps.append(watched.steps)
    way.tokens.append(cost.generated_tokens)
    way.aborted.append(cost.aborted_tokens)


def _predicted(
    setting: Setting,
    law: Callable[[Draw], tuple[int, bool]],
    sampler: Sampler,
    seed: int,
    name: str,
    prompts: Sequence[Prompt],
    beliefs: Believe,
) -> StepForecast:
    job = Job(setting, law, gpus=1, seed=seed)
    return job.step(
        1,
        sampler,
        lambda: job.collector.collect(name, prompts, sampler.schedule, window=sampler.window, believe=beliefs),
    )


def _name(batch: int) -> str:
    """Of a collection: the draws of all that have it are the same."""
    return f"ways-{batch}"


def _all_draws(collector: Collector, name: str, prompts: Sequence[Prompt]) -> Callable[[Draw], tuple[int, bool]]:
    pools, _ = collector.collect(name, prompts, Uniform(draws=SEQ.max_draws))
    found = {(p.prompt.id, a.response.draw): (len(a.response.token_ids), a.right) for p in pools for a in p.attempts}
    return lambda draw: found[draw.prompt.id, draw.index]


def _beliefs(collector: Collector, prompts: Sequence[Prompt]) -> Believe:
    pools, _ = collector.collect("past", prompts, Uniform(draws=PAST))
    found = {pool.prompt.id: PassRate((pool.right + 1) / (PAST + 2), float(PAST)) for pool in pools}
    return lambda asked: [found[prompt.id] for prompt in asked]


def _verdict_seconds(collector: Collector, prompt: Prompt) -> float:
    found = []
    for number in range(20):
        began = time.perf_counter()
        collector.rewards.submit(("latency", number), "\\boxed{0}", prompt.answer)
        while not collector.rewards.poll(1.0):
            pass
        found.append(time.perf_counter() - began)
    return statistics.median(found)


def _table(ways: Sequence[Way]) -> list[str]:
    """Ratios are taken within a turn, and within a batch of those of the model; of a batch the median counts, of batches the mean."""
    of = {way.sampler.label: way for way in ways}
    head = "".join(f"{f'/ {name}':>10}{'model':>7}{'/ model, quartiles':>20}" for name in AGAINST)
    lines = [f"{'seconds to collect, ratio':<28}{head}{'seconds':>10}{'steps':>7}{'tokens':>8}{'aborted':>9}"]
    for way in ways:
        cells = ""
        for other in (of[name] for name in AGAINST):
            model = [a.rollout_seconds / b.rollout_seconds for a, b in zip(way.predicted, other.predicted, strict=True)]
            ratios = [[way.seconds(batch, turn) / other.seconds(batch, turn) for turn in range(TURNS)] for batch in range(BATCHES)]
            ratio = statistics.mean(statistics.median(ratios_of) for ratios_of in ratios)
            cells += _cells(ratio, statistics.mean(model), [r / model[batch] for batch in range(BATCHES) for r in ratios[batch]])
        seconds = statistics.mean(statistics.median(way.seconds(batch, turn) for turn in range(TURNS)) for batch in range(BATCHES))
        steps, tokens, aborted = (f"{statistics.mean(values):.0f}" for values in (way.steps, way.tokens, way.aborted))
        lines.append(f"{way.sampler.label:<28}{cells}{seconds:>10.2f}{steps:>7}{tokens:>8}{aborted:>9}")
    return lines


def _cells(ratio: float, model: float, measured_by_model: Sequence[float]) -> str:
    low, _, high = statistics.quantiles(measured_by_model, n=4, method="inclusive")
    return f"{ratio:>10.2f}{model:>7.2f}{f'{low:.2f} to {high:.2f}':>20}"
