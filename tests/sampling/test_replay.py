"""The store of informative groups: what it keeps, what it gives, and what a checkpoint holds of it."""

from __future__ import annotations

import io
from collections import Counter

import torch

from ada.sampling.replay import Replay, ReplayStore
from ada.types import Attempt, Group, PassRate, Prompt, Response


def group(name: str, rights: str) -> Group:
    """One attempt per letter: `+` right, `-` wrong, `?` without a verdict."""
    responses = [Response(name, i, (5, 1), (-0.5, -0.25), "stop", 3) for i in range(len(rights))]
    attempts = tuple(
        Attempt(response, "text", float(mark == "+"), mark == "+", "timeout" if mark == "?" else None, {"a": 1.0})
        for response, mark in zip(responses, rights, strict=True)
    )
    prompt = Prompt(name, (7, 8), "answer", "source", "text", PassRate(0.5, 2.0))
    return Group(prompt, attempts, (1.0,) * len(attempts), 0.5, 0.5, 9, PassRate(0.25, 4.0))


def test_only_groups_with_right_and_wrong_responses_are_stored():
    store = ReplayStore(Replay(groups=9, max_age=1), seed=0)
    store.add(1, [group("mixed", "+-"), group("right", "++"), group("wrong", "--"), group("unjudged", "+?"), group("empty", "")])
    assert [g.prompt.id for g in store.draw(2)] == ["mixed"]


def test_a_group_is_given_with_its_age_until_it_is_too_old():
    store = ReplayStore(Replay(groups=9, max_age=2), seed=0)
    store.add(1, [group("a", "+-")])
    store.add(2, [group("b", "+-")])
    assert {g.prompt.id: g.age for g in store.draw(3)} == {"a": 2, "b": 1}
    assert {g.prompt.id: g.age for g in store.draw(4)} == {"b": 2}
    assert store.draw(5) == []


def test_what_a_step_has_just_drawn_is_not_replayed_in_it():
    store = ReplayStore(Replay(groups=9, max_age=2), seed=0)
    assert store.draw(1) == []
    store.add(1, [group("a", "+-")])
    assert store.draw(2)[0].age == 1


def test_at_most_so_many_are_given_each_once_and_all_alike_often():
    store = ReplayStore(Replay(groups=4, max_age=10_000), seed=3)
    store.add(0, [group(f"{i}", "+-") for i in range(16)])
    counts: Counter[str] = Counter()
    for step in range(1, 2001):
        given = [g.prompt.id for g in store.draw(step)]
        assert len(set(given)) == 4
        counts.update(given)
    # 2000 draws of 4 of 16: each 500 times in the mean, with a standard deviation of sqrt(2000 * 1/4 * 3/4) = 19.4
    assert len(counts) == 16 and all(abs(n - 500) < 5 * 19.4 for n in counts.values())


def test_the_choice_depends_on_seed_and_step_alone():
    def given(seed: int, step: int) -> list[str]:
        store = ReplayStore(Replay(groups=4, max_age=100), seed)
        store.add(0, [group(f"{i}", "+-") for i in range(16)])
        return [g.prompt.id for g in store.draw(step)]

    assert given(1, 5) == given(1, 5)
    assert given(1, 5) != given(1, 6) and given(1, 5) != given(2, 5)


def test_a_checkpoint_holds_the_store():
    store, other = (ReplayStore(Replay(groups=4, max_age=3), seed=1) for _ in range(2))
    for step in (1, 2, 3):
        store.add(step, [group(f"{step}-{i}", "+-+") for i in range(3)])
    file = io.BytesIO()
    torch.save(store.state_dict(), file)
    file.seek(0)
    other.load_state_dict(torch.load(file, weights_only=True))
    given = store.draw(4)
    assert other.draw(4) == given
    store.add(4, [group("new", "+-")])
    assert other.draw(4) == given
