from __future__ import annotations

import dataclasses
import random

import pytest
import torch
from transformers import Qwen2Config

from ada.trainer.batching import pack
from ada.trainer.work import Work
from ada.types import Sequence
from tests.trainer.plain import sequences


def unpack(batches) -> dict[int, tuple]:
    """Prompt, response, sampler log-probs, advantage of each sequence, read back from the tensors."""
    found = {}
    for b in batches:
        for r in range(b.tokens_RL.shape[0]):
            for index in set(b.sequence_RL[r].tolist()) - {-1}:
                here = b.sequence_RL[r] == index
                mask = b.mask_RL[r] & here
                assert b.positions_RL[r][here].tolist() == list(range(int(here.sum())))
                assert index not in found
                found[index] = (
                    tuple(b.tokens_RL[r][here & ~mask].tolist()),
                    tuple(b.tokens_RL[r][mask].tolist()),
                    tuple(b.sampler_logprobs_RL[r][mask].tolist()),
                    set(b.advantages_RL[r][mask].tolist()),
                )
    return found


@pytest.mark.parametrize("world", [1, 2, 3])
@pytest.mark.parametrize(("budget", "row"), [(1, 1), (64, 1), (64, 40), (10_000, 10_000)])
def test_every_sequence_is_dealt_once_whole_M06(world, budget, row):
    items = sequences(23)
    shares = [pack(items, rank, world, budget, row) for rank in range(world)]
    assert len({len(s) for s in shares}) == 1
    found = unpack(b for share in shares for b in share)
    assert found == {
        i: (s.prompt_ids, s.response_ids, tuple(torch.tensor(s.sampler_logprobs).tolist()), {s.advantage}) for i, s in enumerate(items)
    }
    for b in (b for share in shares for b in share):
        rows, length = b.tokens_RL.shape
        assert rows == 1 or rows * length <= budget
        assert (b.update_tokens, b.update_sequences) == (sum(len(s.response_ids) for s in items), 23)
        outside = ~b.mask_RL
        assert not b.advantages_RL[outside].any()  # V02
        assert not b.sampler_logprobs_RL[outside].any()
        assert not b.mask_RL[:, 0].any()


def test_rows_waste_little_and_ranks_are_level():
    r = random.Random(0)
    items = [Sequence((1,) * 8, (2,) * min(int(r.lognormvariate(3, 0.8)) + 1, 200), (0.0,), 0.0, 0) for _ in range(400)]
    items = [dataclasses.replace(s, sampler_logprobs=(0.0,) * len(s.response_ids)) for s in items]
    shares = [pack(items, rank, 4, 2048, 256) for rank in range(4)]
    used = [sum(int((b.sequence_RL >= 0).sum()) for b in share) for share in shares]
    slots = sum(b.tokens_RL.numel() for share in shares for b in share)
    assert max(used) - min(used) <= 256
    assert sum(used) == sum(map(len, items))
    assert slots < 1.05 * sum(used)


def dealt(items: list[Sequence], work: Work) -> list[list[int]]:
    """Lengths of the sequences of each of two ranks; each sequence is a row of its own."""
    found = [unpack(pack(items, rank, 2, 1, 1, work)) for rank in range(2)]
    return [sorted(index for index in share) for share in found]


def test_ranks_get_equal_work_not_equally_many_tokens():
    """One sequence of 10 tokens and three of 6, which do not fit beside one another. By tokens, 10 + 6 against 6 + 6; by attention alone,
    100 against 36 + 36 + 36."""
    items = [Sequence((1,), (2,) * (n - 1), (-1.0,) * (n - 1), 0.5, 0) for n in (10, 6, 6, 6)]
    assert dealt(items, Work()) == [[0, 3], [1, 2]]
    assert dealt(items, Work(attention=10.0)) == [[0], [1, 2, 3]]


def test_logits_are_work_too():
    """Four sequences of 10 tokens, two of them with one response token, two with nine. Where logits cost as much as all layers, that is 11
    and 19: no rank gets both of the dear ones, as it does by tokens."""
    items = [Sequence((1,) * (10 - n), (2,) * n, (-1.0,) * n, 0.5, 0) for n in (1, 9, 1, 9)]
    assert dealt(items, Work()) == [[0, 2], [1, 3]]
    assert dealt(items, Work(head=1.0)) == [[0, 1], [2, 3]]


def test_the_work_of_a_model_is_counted_from_its_shape():
    """Four layers of 1,000 weights in all, a head of 8 x 100, attention over 2 heads of 6: 2 x 12 x 4 products a pair of slots."""
    config = Qwen2Config(
        hidden_size=8, vocab_size=100, num_attention_heads=2, head_dim=6, num_hidden_layers=4, num_key_value_heads=1, intermediate_size=8
    )
    work = Work.of_model(config, 1000)
    assert (work.head, work.attention) == (0.8, 0.096)
    assert work.of_row(10, 5) == pytest.approx(10 + 0.8 * 5 + 0.096 * 100)


def test_a_rank_without_work_gets_empty_batches():
    items = sequences(3)
    shares = [pack(items, rank, 4, 1, 1) for rank in range(4)]
    assert [len(s) for s in shares] == [1, 1, 1, 1]
    empty = shares[3][0]
    assert empty.tokens_RL.shape == (1, 2)
    assert not empty.mask_RL.any()
    assert empty.update_sequences == 3


def test_nothing_gives_nothing():
    assert pack([], 0, 2, 100, 100) == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"prompt_ids": ()}, "sequence 1 .* 0 prompt tokens"),
        ({"response_ids": (), "sampler_logprobs": ()}, "0 response tokens"),
        ({"sampler_logprobs": (-1.0,)}, "1 sampler log-probs"),
        ({"advantage": float("nan")}, "advantage nan"),
        ({"sampler_logprobs": (-1.0, float("-inf"))}, r"\[-inf\]"),
    ],
)
def test_a_broken_sequence_is_refused_P02(change, message):
    good = Sequence((1,), (2, 3), (-1.0, -1.0), 0.5, 0)
    with pytest.raises(ValueError, match=message):
        pack([good, dataclasses.replace(good, **change)], 0, 1, 100, 100)
