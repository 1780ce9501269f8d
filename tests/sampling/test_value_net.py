"""The value network on states of our own making: what maximum likelihood says, and that its state is all of it."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from ada.sampling.passrate.ema import EMA
from ada.sampling.passrate.value_net import ValueNet
from tests.sampling.pools import pool, prompt

PROMPTS = [prompt(f"test/{i}") for i in range(8)]


class States:
    """Of prompt i: the i-th of `vectors`, in turn."""

    def __init__(self, vectors: list[list[float]]):
        self.vectors = vectors

    def of(self, prompts):
        return torch.tensor([self.vectors[int(p.id.split("/")[1]) % len(self.vectors)] for p in prompts])

    def agreed(self, values):
        return values


def step(estimator, verdicts):
    """What a run does: beliefs, then what was drawn."""
    before = [belief.mean for belief in estimator.believe(PROMPTS[: len(verdicts)])]
    estimator.learn([pool(v, id=p.id) for v, p in zip(verdicts, PROMPTS, strict=False)])
    return before


def test_it_starts_at_one_half_and_moves_towards_what_was_seen():
    estimator = ValueNet().start(States([[1.0, 2.0, 0.0, 3.0]]))
    assert step(estimator, ["RRRW", "RRRR"]) == [0.5, 0.5]
    assert all(mean > 0.5 for mean in step(estimator, ["W" * 8] * 2))
    for _ in range(20):
        step(estimator, ["W" * 8] * 2)
    assert all(belief.mean < 0.2 and belief.strength == 0 for belief in estimator.believe(PROMPTS[:2]))


def test_its_optimum_is_the_share_of_all_responses_not_the_mean_of_shares():
    """Two prompts of the same state with 1 of 2 and 1 of 14 right: the binomial likelihood is largest at 2/16, not at 2/7."""
    estimator = ValueNet(passes=400, learning_rate=0.01, weight_decay=0.0).start(States([[1.0, 2.0, 0.0, 3.0]]))
    step(estimator, ["RW", "R" + "W" * 13])
    assert estimator.believe(PROMPTS[:1])[0].mean == pytest.approx(2 / 16, abs=0.005)


def test_it_tells_prompts_apart_by_their_states_also_those_never_drawn():
    estimator = ValueNet(passes=20).start(States([[1.0, 0.0, 2.0, 0.0], [0.0, 2.0, 0.0, 1.0]]))
    for _ in range(10):
        step(estimator, ["RRRRRRRW", "WWWWWWWR", "RRRRRRRW", "WWWWWWWR"])
    easy, hard = estimator.believe(PROMPTS[6:8])
    assert easy.mean == pytest.approx(7 / 8, abs=0.05) and hard.mean == pytest.approx(1 / 8, abs=0.05)


def test_failures_teach_nothing():
    estimator = ValueNet().start(States([[1.0, 2.0, 0.0, 3.0]]))
    before = estimator.state_dict()
    assert before == {}
    step(estimator, ["FFFF", ""])
    assert [b.mean for b in estimator.believe(PROMPTS[:2])] == [0.5, 0.5]


@pytest.mark.parametrize("steps", [0, 1, 3])
def test_a_saved_state_has_the_same_future_and_is_a_copy(steps):
    whole, resumed = (ValueNet().start(States([[1.0, 0.0, 2.0, 0.0], [0.0, 2.0, 0.0, 1.0], [3.0, 1.0, 0.0, 0.0]])) for _ in range(2))
    for _ in range(steps):
        step(whole, ["RRWW", "RWWW", "WWWW"])
    state = whole.state_dict()
    later = [step(whole, ["RRRW", "WWWW", "RWWW"]) for _ in range(3)]
    step(resumed, ["RRRR", "RRRR", "RRRR"])
    resumed.load_state_dict(state)
    assert [step(resumed, ["RRRW", "WWWW", "RWWW"]) for _ in range(3)] == later


def test_it_leaves_the_process_random_numbers_alone():
    torch.manual_seed(3)
    expected = torch.rand(4)
    torch.manual_seed(3)
    step(ValueNet().start(States([[1.0, 2.0, 0.0, 3.0]])), ["RW"])
    assert torch.equal(torch.rand(4), expected)


@pytest.mark.slow
def test_it_knows_more_of_prompts_never_drawn_than_counts_do():
    """On the states of the micro-world's base model, with the pass rates that its corpus had: 8 draws of each of 32 prompts a step."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    from ada.data.microworld import BASE
    from ada.data.microworld.pupil import pass_rate
    from ada.data.microworld.task import problems

    tokenizer, model = AutoTokenizer.from_pretrained(BASE), AutoModelForCausalLM.from_pretrained(BASE, dtype=torch.float32)
    rows = list(problems("train"))
    with torch.no_grad():
        states_BTH = model.model(torch.tensor([tokenizer(row.prompt).input_ids for row in rows])).last_hidden_state
    dice = np.random.default_rng(0)
    network = ValueNet().start(States(torch.cat([states_BTH[:, -1], states_BTH.mean(1)], 1).tolist()))
    counts = EMA(discount=0.8).start()
    order = np.concatenate([dice.permutation(512) for _ in range(2)])
    errors = {network: [], counts: []}
    for step in range(32):
        asked = [prompt(f"test/{i}") for i in order[32 * step : 32 * step + 32]]
        p = [pass_rate(rows[int(x.id.split("/")[1])]) for x in asked]
        pools = ["".join(np.where(dice.random(8) < rate, "R", "W")) for rate in p]
        for estimator, found in errors.items():
            found.append(np.mean([abs(belief.mean - rate) for belief, rate in zip(estimator.believe(asked), p, strict=True)]))
            estimator.learn([pool(verdicts, id=x.id) for verdicts, x in zip(pools, asked, strict=True)])
    first, second = ({name: np.mean(found[half]) for name, found in errors.items()} for half in (slice(16), slice(16, 32)))
    print(first, second)
    assert first[network] < 0.75 * first[counts]  # counts have nothing but their prior in the first epoch
    assert second[network] < first[network] and second[counts] < second[network]  # and the prompt's own counts from then on
