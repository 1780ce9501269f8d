"""Weights from the actor into the engine, and the proof that they arrived."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import torch

from ada.contracts import Engine
from ada.engine.errors import EngineError
from ada.engine.fingerprint import Fingerprint
from ada.ranks import Ranks

Reference = Callable[[list[tuple[int, ...]]], list[list[float]]]
"""Sequences of token ids -> the actor's log-prob at temperature 1 of each token but the first."""


class SyncError(EngineError):
    """The engine does not hold the actor's weights. It refuses to generate until a sync succeeds."""


@dataclass(frozen=True, slots=True)
class SyncReport:
    seconds: float  # of the transfer and its check
    parameters: int  # numbers sent
    fingerprint: str  # of the tensors sent, alike on all ranks
    logprob_abs_max: float  # largest |engine - actor| over the held sequences of this rank; 0 where none are held


def sync(
    weights: Iterable[tuple[str, torch.Tensor]],
    engine: Engine,
    version: int,
    reference: Reference,
    held: list[tuple[int, ...]],
    tolerance: float,
    ranks: Ranks,
) -> SyncReport:
    """Streams the actor's full tensors (by Hugging Face name) into the engine, then compares what was sent with what was received, the
    ranks with each other, and the engine's log-probs of the `held` sequences with the actor's, to `tolerance` (nats).

    All ranks call it together; with more than one, a failure on any is raised on all.
    Raises SyncError; whatever goes wrong, the engine refuses to generate afterwards.
    """
    started, sent = time.perf_counter(), Fingerprint()
    failure = _attempt(lambda: engine.load_weights(_noted(weights, sent), version))
    if failure is None and sent.hexdigest() != engine.received.hexdigest():
        failure = SyncError(f"the engine received other tensors than were sent ({engine.received.hexdigest()}, sent {sent.hexdigest()})")
    _agree(engine, ranks, version, failure, "sending the weights")
    _same_on_all_ranks(engine, ranks, version, sent.hexdigest())

    difference = 0.0

    def compare() -> None:
        nonlocal difference
        actor = reference(held)  # first: it may be a collective, which every rank must reach
        difference = _largest_difference(engine.score(held), actor, tolerance) if held else 0.0

    _agree(engine, ranks, version, _attempt(compare), "comparing log-probs")
    return SyncReport(time.perf_counter() - started, sent.parameters, sent.hexdigest(), difference)


def _noted(weights: Iterable[tuple[str, torch.Tensor]], sent: Fingerprint) -> Iterator[tuple[str, torch.Tensor]]:
    for name, tensor in weights:
        sent.add(name, tensor)
        yield name, tensor


def _largest_difference(engine: Sequence[Sequence[float]], actor: Sequence[Sequence[float]], tolerance: float) -> float:
    largest, where = 0.0, ""
    for index, (ours, theirs) in enumerate(zip(engine, actor, strict=True)):
        for position, (a, b) in enumerate(zip(ours, theirs, strict=True)):
            difference = abs(a - b) if math.isfinite(a - b) else math.inf
            if difference > largest:
                largest, where = difference, f"token {position + 1} of held sequence {index}: engine {a:.6f}, actor {b:.6f}"
    if largest > tolerance:
        raise SyncError(
            f"after the sync the engine's log-probs differ from the actor's by up to {largest:.3g}, allowed is {tolerance:.3g} ({where}). "
            "Either a weight did not arrive (a tied head, a stale cache), or the two compute in different precision: "
            f"then raise sync.tolerance, which is {tolerance:g}"
        )
    return largest


def _attempt(act: Callable[[], None]) -> Exception | None:
    try:
        act()
    except Exception as error:  # raised by _agree, once every rank knows
        return error
    return None


def _agree(engine: Engine, ranks: Ranks, version: int, failure: Exception | None, doing: str) -> None:
    of_ranks = ranks.gather(None if failure is None else f"{type(failure).__name__}: {failure}")
    failed = {rank: reason for rank, reason in enumerate(of_ranks) if reason is not None}
    if not failed:
        return
    rank, reason = next(iter(failed.items()))
    message = f"weight sync {version} failed while {doing}, on {len(failed)} of {len(of_ranks)} ranks; rank {rank}: {reason}"
    engine.refuse(message)
    raise SyncError(message) from failure


def _same_on_all_ranks(engine: Engine, ranks: Ranks, version: int, fingerprint: str) -> None:
    of_ranks = ranks.gather(fingerprint)
    if len(set(of_ranks)) > 1:
        message = f"weight sync {version}: the ranks sent different weights (fingerprints {of_ranks}): their actors have diverged"
        engine.refuse(message)
        raise SyncError(message)
