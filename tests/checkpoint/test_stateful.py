"""Everything that remembers: its state goes through a checkpoint's file and comes back to a fresh one, which then does as the first."""

from __future__ import annotations

import io
import random
from collections.abc import Callable
from typing import Any

import pytest
import torch

from ada.checkpoint.config import Checkpoints
from ada.checkpoint.keeper import Keeper
from ada.config import methods
from ada.contracts import Stateful
from ada.ranks import Ranks
from ada.sampling.replay import Replay, ReplayStore
from ada.types import Pool, Prompt
from tests.sampling.pools import pool

PROMPTS = [Prompt(f"train/{i}", (i, i + 1), "", "train", "") for i in range(40)]


def learned(part: Any, prompts: list[Prompt], chance: random.Random) -> None:
    pools = []
    for prompt in prompts:
        made = pool("".join(chance.choice("RRRW" if hash_of(prompt) % 3 else "W") for _ in range(4)))
        pools.append(Pool(prompt, attempts=made.attempts))
    part.learn(pools)


def hash_of(prompt: Prompt) -> int:
    return int(prompt.id.rpartition("/")[2])


def selection(method: type) -> tuple[Callable[[], Any], Callable[[Any, int], Any]]:
    """Starts one; and a step of it, whose outcome tells what it remembers."""

    def step(part: Any, number: int) -> list[str]:
        prompts = part.next(7)
        more = part.next(2, beside={prompt.id for prompt in prompts})
        learned(part, prompts + more, random.Random(number))
        return [prompt.id for prompt in prompts + more]

    return lambda: method().start(PROMPTS, 5), step


def passrate(method: type) -> tuple[Callable[[], Any], Callable[[Any, int], Any]]:
    def step(part: Any, number: int) -> list[float]:
        chance = random.Random(number)
        believed = [belief.mean for belief in part.believe(PROMPTS)]
        learned(part, chance.sample(PROMPTS, 8), chance)
        return believed

    return lambda: method().start(States()), step


class States:
    """What a policy makes of prompts, here of their numbers."""

    def of(self, prompts: list[Prompt]) -> torch.Tensor:
        return torch.tensor([[float(hash_of(prompt) % m) for m in (2, 3, 5, 7)] for prompt in prompts])

    def agreed(self, values: list[float]) -> list[float]:
        return values


CASES = {
    f"{axis}-{name}": make(method)
    for axis, folder, make in (("selection", "ada.data.selection", selection), ("passrate", "ada.sampling.passrate", passrate))
    for name, method in sorted(methods(folder).items())
}


def test_a_part_that_the_checkpoint_lacks_begins_anew(tmp_path):
    """Replay that is turned on as a run goes on."""
    store = ReplayStore(Replay(groups=4, max_age=3), seed=1)
    keeper = Keeper(Checkpoints(), tmp_path, None, Ranks(), "", {"replay": store}, None)
    keeper.restore({"step": 3, "unfinished": None, "parts": {"selection": {}}})
    assert store.draw(4) == []


def through_a_file(state: dict[str, Any]) -> dict[str, Any]:
    buffer = io.BytesIO()
    torch.save(state, buffer)
    buffer.seek(0)
    return torch.load(buffer, weights_only=True)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("before", [0, 1, 9])
def test_a_fresh_one_goes_on_as_the_first_would_have_A04_C05_C07(case, before):
    start, step = CASES[case]
    first: Stateful = start()
    for number in range(before):
        step(first, number)
    state = first.state_dict()
    written = through_a_file(state)
    expected = [step(first, before + number) for number in range(8)]
    second: Stateful = start()
    second.load_state_dict(written)
    assert [step(second, before + number) for number in range(8)] == expected
    # What was learnt meanwhile is in neither the copy that was given out nor the one that was loaded.
    for given in (state, written):
        third: Stateful = start()
        third.load_state_dict(given)
        assert [step(third, before + number) for number in range(8)] == expected


@pytest.mark.parametrize("case", CASES)
def test_it_is_something_that_is_remembered(case):
    """Else the test above could not fail."""
    start, step = CASES[case]
    part: Stateful = start()
    for number in range(3):
        step(part, number)
    fresh = start()
    assert [step(part, 3 + number) for number in range(8)] != [step(fresh, 3 + number) for number in range(8)]
