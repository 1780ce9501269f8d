"""The carriers: what flows through a training step, from prompt to gradient.

    Prompt -> Draw -> Response -> Attempt -> Pool -> Group -> Sequence -> Batch -> StepRecord

All are frozen except Pool, which grows while its prompt is being sampled. Shape letters: R packed rows, L tokens
of a row.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import torch

FinishReason = Literal["stop", "length"]
"""`stop`: the response ended by itself (any end id or stop string). `length`: it was cut off by its token budget."""

Spans = tuple[tuple[int, int], ...]
"""(weight version, tokens): who wrote a response, one run of tokens after the other. Versions never fall."""

Outcome = Literal["resolved", "exhausted", "gave_up", "stale"]
"""Why a prompt's sampling ended: its stop rule held, its budget ran out, its schedule gave it up early, or it was open for too long."""


@dataclass(frozen=True, slots=True)
class Prompt:
    id: str  # "<source>/<row id>": unique over all sources, stable across shuffles, resumes and world sizes
    token_ids: tuple[int, ...]  # exactly what the engine reads and the actor scores; never tokenised twice
    answer: str  # the gold answer, as text
    source: str
    text: str  # what was tokenised; for people and reward functions
    prior: PassRate | None = None  # of the data: measured before the run, by another model or an earlier state of this one


@dataclass(frozen=True, slots=True)
class Written:
    """The first tokens of a response that was interrupted."""

    token_ids: tuple[int, ...] = ()
    logprobs: tuple[float, ...] = ()  # of each, under the law and the weights that it was drawn from
    versions: Spans = ()

    def __len__(self) -> int:
        return len(self.token_ids)


@dataclass(frozen=True, slots=True)
class Draw:
    """One response asked of the engine. `(prompt.id, index)` names it; `seed` (63 bits) is its own."""

    prompt: Prompt
    index: int
    seed: int
    begun: Written = Written()  # the response goes on from there


@dataclass(frozen=True, slots=True)
class Response:
    prompt_id: str
    draw: int  # index of the draw within its prompt and step, from 0
    token_ids: tuple[int, ...]  # sampled ids verbatim, the end token included
    logprobs: tuple[float, ...]  # of each sampled id under the law it was sampled from (temperature, top_p, top_k)
    finish_reason: FinishReason
    weight_version: int  # optimizer updates behind the weights that wrote it: its last tokens, where others wrote the first
    earlier: Spans = ()  # of those first tokens, in their order

    @property
    def versions(self) -> Spans:
        """Of all its tokens."""
        return (*self.earlier, (self.weight_version, len(self.token_ids) - sum(tokens for _, tokens in self.earlier)))

    def older_than(self, version: int) -> int:
        """Its tokens that older weights than these wrote; they are its first ones."""
        return sum(tokens for written_by, tokens in self.versions if written_by < version)


@dataclass(frozen=True, slots=True)
class Attempt:
    """A scored response. `failure` names why there is no verdict (`timeout`, `crash`, ...): neither right nor wrong, unless counted so."""

    response: Response
    text: str
    reward: float  # 0.0 where failure is set
    right: bool
    failure: str | None = None
    parts: Mapping[str, float] = field(default_factory=dict)
    counts_wrong: bool = False  # a failure that the recipe counts as a wrong answer

    @property
    def judged(self) -> bool:
        """Whether it enters statistics and may be trained on."""
        return self.failure is None or self.counts_wrong

    @property
    def wrong(self) -> bool:
        return self.judged and not self.right


@dataclass(frozen=True, slots=True)
class PassRate:
    """A belief about p(x): its mean, and its strength in observed responses (0: nothing but the prior)."""

    mean: float
    strength: float


@dataclass(slots=True)
class Pool:
    """All that was drawn for one prompt in one step, in the order of the draws' indices."""

    prompt: Prompt
    belief: PassRate | None = None
    budget: int = 0  # draws it may have, as last allotted by the schedule
    attempts: list[Attempt] = field(default_factory=list)
    rounds: int = 0  # how often its stop rule was consulted
    outcome: Outcome | None = None  # None while it is open
    seed: int = 0  # of choices about this pool: a hash of (run seed, step, prompt id)

    @property
    def drawn(self) -> int:
        return len(self.attempts)

    @property
    def right(self) -> int:
        return sum(a.right for a in self.attempts)

    @property
    def wrong(self) -> int:
        return sum(a.wrong for a in self.attempts)

    @property
    def pass_rate(self) -> float:
        """N+ / (N+ + N-); NaN where nothing has a verdict."""
        judged = self.right + self.wrong
        return self.right / judged if judged else float("nan")

    @property
    def mean_reward(self) -> float:
        rewards = [a.reward for a in self.attempts if a.judged]
        return statistics.mean(rewards) if rewards else float("nan")  # exact: equal rewards have no advantage


@dataclass(frozen=True, slots=True)
class Group:
    """The responses of one prompt that are trained on, with the facts of the whole pool they come from."""

    prompt: Prompt
    attempts: tuple[Attempt, ...]
    weights: tuple[float, ...]  # importance weight of each attempt; 1 where none is asked for
    pass_rate: float  # N+ / (N+ + N-) of the pool
    mean_reward: float  # of the pool
    drawn: int  # N, the size of the pool
    belief: PassRate | None = None
    age: int = 0  # steps ago that it was drawn; more than 0: it is replayed

    @property
    def rewards(self) -> tuple[float, ...]:
        return tuple(a.reward for a in self.attempts)


@dataclass(frozen=True, slots=True)
class Sequence:
    """One prompt and response as the actor reads it. The advantage is the response's, shared by its tokens unless `by_entropy`."""

    prompt_ids: tuple[int, ...]
    response_ids: tuple[int, ...]
    sampler_logprobs: tuple[float, ...]  # one per response id
    advantage: float
    group: int  # index of its group in the step
    by_entropy: bool = False  # each token's share of the advantage is set by its entropy (ada/trainer/entropy_guidance.py)
    stale: int = 0  # so many of its first response tokens were drawn under older weights than the step's

    def __len__(self) -> int:
        return len(self.prompt_ids) + len(self.response_ids)


@dataclass(frozen=True, slots=True)
class Batch:
    """One micro-batch: R rows of L tokens, several sequences to a row. Slot t of a row speaks of token t given tokens < t."""

    tokens_RL: torch.Tensor  # int64
    positions_RL: torch.Tensor  # int64, from 0 again at each sequence: attention stays within a sequence
    mask_RL: torch.Tensor  # bool, True at response tokens
    sampler_logprobs_RL: torch.Tensor  # float32, 0 outside the mask
    advantages_RL: torch.Tensor  # float32, 0 outside the mask
    by_entropy_RL: torch.Tensor  # bool, True at response tokens of sequences marked so
    stale_RL: torch.Tensor  # bool, True at response tokens of older weights: their ratio is to the log-probs they were drawn with
    sequence_RL: torch.Tensor  # int64, index into the update's sequences; -1 at padding
    update_tokens: int  # response tokens of the whole update, over all micro-batches and ranks: the token-mean's denominator
    update_sequences: int  # sequences of the whole update, likewise


@dataclass(frozen=True, slots=True)
class StepRecord:
    """What one step leaves in metrics.jsonl: names as in docs/metrics.md, plain finite floats or None."""

    step: int
    metrics: Mapping[str, float | None]
