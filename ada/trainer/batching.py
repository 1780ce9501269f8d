"""Sequences -> micro-batches of packed rows. Pure and deterministic: each rank works out the whole deal and takes its own share.

Rows are filled by best fit, longest sequence first; they go to the rank with the least work so far, and a rank's rows are cut into
micro-batches by a budget of slots, the largest first: where memory does not suffice, that shows at once. What a micro-batch takes grows
with its slots alone: of logits no more than a piece ever stands (ada/trainer/policy.py). All ranks get the same number of micro-batches; a
short one gets batches without response tokens.
"""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from collections.abc import Sequence as Many

import torch

from ada.trainer.work import Work
from ada.types import Batch, Sequence

TOKENS_ALONE = Work()
Row = list[int]  # indices into the update's sequences


def pack(
    sequences: Many[Sequence], rank: int, world: int, micro_batch_tokens: int, row_tokens: int, work: Work = TOKENS_ALONE
) -> list[Batch]:
    """The micro-batches of `rank`, out of the update's whole list of sequences, which must be the same on every rank.

    A row holds max(longest sequence, row_tokens) tokens, or less where there would be fewer rows than ranks.
    A micro-batch holds at most `micro_batch_tokens` slots (rows * their length), or one row where a row is longer. `work`: what ranks are
    to have equally much of.
    """
    for index, sequence in enumerate(sequences):
        _check(index, sequence)
    if not sequences:
        return []
    lengths = [len(s) for s in sequences]
    rows = _fill_rows(lengths, max(max(lengths), min(row_tokens, -(-sum(lengths) // world))))
    costs = [work.of_row(_used(row, lengths), sum(len(sequences[i].response_ids) for i in row)) for row in rows]
    dealt = [sorted((rows[r] for r in own), key=lambda row: -_used(row, lengths)) for own in _deal(costs, world)]
    cut = [sorted(_cut(rows, lengths, micro_batch_tokens), key=lambda m: -len(m) * _used(m[0], lengths)) for rows in dealt]
    mine = cut[rank] + [[]] * (max(map(len, cut)) - len(cut[rank]))
    tokens = sum(len(s.response_ids) for s in sequences)
    return [to_batch(rows, sequences, tokens, len(sequences)) for rows in mine]


def to_batch(rows: list[Row], sequences: Many[Sequence], update_tokens: int, update_sequences: int) -> Batch:
    """One micro-batch as tensors. No rows: a batch of one row of padding, which a rank without work runs for the sake of the others."""
    length = max((sum(len(sequences[i]) for i in row) for row in rows), default=2)
    shape = (max(len(rows), 1), length)
    tokens, positions, owner = (torch.full(shape, fill, dtype=torch.int64) for fill in (0, 0, -1))
    mask = torch.zeros(shape, dtype=torch.bool)
    by_entropy, stale = torch.zeros(shape, dtype=torch.bool), torch.zeros(shape, dtype=torch.bool)
    sampler_logprobs, advantages = torch.zeros(shape), torch.zeros(shape)
    for r, row in enumerate(rows):
        start = 0
        for index in row:
            s = sequences[index]
            response, end = start + len(s.prompt_ids), start + len(s)
            tokens[r, start:end] = torch.tensor(s.prompt_ids + s.response_ids)
            positions[r, start:end] = torch.arange(end - start)
            owner[r, start:end] = index
            mask[r, response:end] = True
            sampler_logprobs[r, response:end] = torch.tensor(s.sampler_logprobs)
            advantages[r, response:end] = s.advantage
            by_entropy[r, response:end] = s.by_entropy
            stale[r, response : response + s.stale] = True
            start = end
    return Batch(tokens, positions, mask, sampler_logprobs, advantages, by_entropy, stale, owner, update_tokens, update_sequences)


def _check(index: int, sequence: Sequence) -> None:
    prompt, response, logprobs = len(sequence.prompt_ids), len(sequence.response_ids), len(sequence.sampler_logprobs)
    if prompt == 0 or response == 0 or response != logprobs:
        raise ValueError(
            f"sequence {index} (group {sequence.group}) has {prompt} prompt tokens, {response} response tokens and {logprobs} sampler "
            "log-probs: it needs at least one of each, and one log-prob per response token"
        )
    if not (math.isfinite(sequence.advantage) and all(map(math.isfinite, sequence.sampler_logprobs))):
        raise ValueError(
            f"sequence {index} (group {sequence.group}) has advantage {sequence.advantage} and sampler log-probs "
            f"{[x for x in sequence.sampler_logprobs if not math.isfinite(x)][:3]}: they must be finite; leave such a response out"
        )


def _fill_rows(lengths: list[int], capacity: int) -> list[Row]:
    """Best fit, longest first; ties by index."""
    rows: list[Row] = []
    free: list[tuple[int, int]] = []  # (free slots, row), sorted
    for index in sorted(range(len(lengths)), key=lambda i: (-lengths[i], i)):
        at = bisect_left(free, (lengths[index], -1))
        if at == len(free):
            free.append((capacity, len(rows)))
            rows.append([])
        slots, row = free.pop(at)
        rows[row].append(index)
        insort(free, (slots - lengths[index], row))
    return rows


def _used(row: Row, lengths: list[int]) -> int:
    return sum(lengths[i] for i in row)


def _deal(costs: list[float], world: int) -> list[list[int]]:
    """Rows to ranks, the dearest first, each to the rank with the least so far."""
    dealt: list[list[int]] = [[] for _ in range(world)]
    load = [0.0] * world
    for row in sorted(range(len(costs)), key=lambda row: (-costs[row], row)):
        rank = load.index(min(load))
        dealt[rank].append(row)
        load[rank] += costs[row]
    return [sorted(rows) for rows in dealt]


def _cut(rows: list[Row], lengths: list[int], budget: int) -> list[list[Row]]:
    """Consecutive rows, fullest first: the first row of a micro-batch sets its length."""
    batches: list[list[Row]] = []
    for row in rows:
        if batches and (len(batches[-1]) + 1) * _used(batches[-1][0], lengths) <= budget:
            batches[-1].append(row)
        else:
            batches.append([row])
    return batches
