"""The shuffled order: epochs, their borders, and a state that goes on where it was saved."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from ada.data.selection.shuffle import Shuffle
from tests.sampling.stand_in import prompts

EIGHT = prompts(8)


def ids(chosen):
    return [int(prompt.id.rpartition("/")[2]) for prompt in chosen]


def epochs(seed, count, size=8):
    order = Shuffle().start(prompts(size), seed)
    return [ids(order.next(size)) for _ in range(count)]


def test_each_prompt_once_an_epoch_in_orders_that_differ_C05():
    first, second, third = epochs(0, 3)
    assert sorted(first) == sorted(second) == sorted(third) == list(range(8))
    assert first != second != third != first


def test_an_epoch_depends_on_seed_and_number_alone_C05():
    """The second epoch is the same whether the first was read in steps of 8, 4, 2 or 1."""
    for step in (4, 2, 1):
        order = Shuffle().start(EIGHT, 3)
        read = [index for _ in range(16 // step) for index in ids(order.next(step))]
        assert [read[:8], read[8:]] == epochs(3, 2)
    assert epochs(3, 2) != epochs(4, 2)
    assert epochs(3, 2) == epochs(3, 2)


@pytest.mark.parametrize("step", [3, 5, 7])
def test_no_prompt_twice_in_a_step_over_the_end_of_an_epoch(step):
    """8 steps of `step` are `step` epochs: each prompt comes `step` times in all, or is still waiting for its turn."""
    for seed in range(20):
        order = Shuffle().start(EIGHT, seed)
        steps = [ids(order.next(step)) for _ in range(8)]
        assert all(len(set(chosen)) == step for chosen in steps)
        read = Counter(index for chosen in steps for index in chosen) + Counter(order.waiting)
        in_whole_epochs, rest = divmod(order.taken, 8)
        assert sum(read.values()) == order.taken
        assert (
            set(read.values()) <= {in_whole_epochs, in_whole_epochs + 1} and sum(count > in_whole_epochs for count in read.values()) == rest
        )


def test_prompts_of_the_same_step_are_passed_over_and_come_next():
    order = Shuffle().start(EIGHT, 0)
    first = order.next(6)
    more = order.next(2, beside={prompt.id for prompt in first})
    assert sorted(ids(first) + ids(more)) == list(range(8))
    upcoming = epochs(0, 2)[1]
    beside = {f"test/{upcoming[0]}", f"test/{upcoming[2]}"}
    assert ids(order.next(3, beside)) == [upcoming[1], upcoming[3], upcoming[4]]
    assert ids(order.next(3)) == [upcoming[0], upcoming[2], upcoming[5]]


def test_more_prompts_than_there_are_is_refused():
    with pytest.raises(ValueError, match="asks for 9 different prompts, and there are 8"):
        Shuffle().start(EIGHT, 0).next(6, beside={"test/0", "test/1", "test/2"})
    assert len(Shuffle().start(EIGHT, 0).next(8)) == 8


def test_a_saved_state_goes_on_C05():
    order = Shuffle().start(EIGHT, 1)
    for _ in range(5):
        order.next(3)
    state = json.loads(json.dumps(order.state_dict()))
    expected = [ids(order.next(3)) for _ in range(20)]
    other = Shuffle().start(EIGHT, 1)
    other.load_state_dict(state)
    assert [ids(other.next(3)) for _ in range(20)] == expected
