"""What both engines share: who may submit what and when, and weights that are either complete or refused."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Literal, NamedTuple

import torch

from ada.engine.alone import Alone
from ada.engine.errors import EngineError, ResponseError
from ada.engine.fingerprint import Fingerprint
from ada.engine.folder import ModelFolder
from ada.engine.generation import Generation
from ada.types import Draw, FinishReason, Response, Written

Key = tuple[str, int]  # (prompt id, draw index): names a draw among those that run


class Tokens(NamedTuple):
    """What a running draw has been given since it was submitted."""

    token_ids: list[int]
    logprobs: list[float]


class Ended(NamedTuple):
    """What an engine says of a draw that ended, not yet looked at; its tokens are those since it was submitted."""

    draw: Draw
    token_ids: list[int]
    logprobs: list[float]
    reason: str | None


UNKNOWN = -1  # a weight version nobody has vouched for


class GuardedEngine(Alone, ABC):
    """An engine that refuses to generate until a complete set of weights is in it, and again once a load failed."""

    def __init__(self, folder: ModelFolder, generation: Generation, room: int) -> None:
        """`room`: tokens that a prompt and its response may take together."""
        self.folder = folder
        self.generation = generation
        self.room = room
        self.weight_version = UNKNOWN
        self.received = Fingerprint()  # of the weights of the last load
        self._refusal: str | None = "it holds no weights anyone has vouched for: call load_weights (or trust_folder_weights) first"
        self._overwritten = False  # the folder's own weights are no longer, or no longer all, in the engine
        self._running: dict[Key, Draw] = {}
        self._ended: deque[Ended] = deque()  # of the running draws, those that step() has yet to hand out
        self._asleep = False
        self._suspect_cache = False  # it may hold NaN, which spreads even from where nothing attends: 0 times NaN

    @abstractmethod
    def _start(self, draw: Draw) -> None: ...

    @abstractmethod
    def _decode(self) -> list[Ended]: ...

    @abstractmethod
    def _end(self, keys: Collection[Key]) -> dict[Key, Tokens]:
        """Forget these draws; some may have ended already. What those had that had not."""

    @abstractmethod
    def _replace(self, weights: Iterator[tuple[str, torch.Tensor]]) -> None:
        """Also forgets which prompts the cache holds: the old weights read them."""

    @abstractmethod
    def _wipe_cache(self) -> None:
        """Zeros in the place of all keys and values."""

    def _sleep(self) -> bool:
        """Gives up the device memory of weights and cache; False where the engine always keeps it."""
        return False

    def _wake(self, part: Literal["weights", "kv_cache"]) -> None:
        """Takes memory for it again; what it holds is garbage."""
        raise NotImplementedError(f"{type(self).__name__} does not sleep")

    @abstractmethod
    def _score(self, sequences: Sequence[tuple[int, ...]]) -> list[list[float]]: ...

    @abstractmethod
    def close(self) -> None: ...

    @contextmanager
    def drawing(self, law: Generation) -> Iterator[None]:
        """Inside, draws follow `law`, as those of an evaluation do; after, the law from before. No draw may be running."""
        self._require_idle("change the law of sampling")
        if law.most_tokens > self.room:
            raise EngineError(f"a law of {law.most_tokens} tokens, but the engine has room for {self.room}: start it with this law, too")
        before, self.generation = self.generation, law
        try:
            yield
        finally:
            self.generation = before

    def submit(self, draw: Draw) -> None:
        """Queue a draw. Refused: no complete weights, a prompt that is too long or not of this vocabulary, a draw that already runs."""
        self._require_weights()
        ids, key, limit = draw.prompt.token_ids, (draw.prompt.id, draw.index), self.generation.max_prompt_tokens
        if not 0 < len(ids) <= limit:
            raise EngineError(
                f"prompt {draw.prompt.id} has {len(ids)} tokens, allowed are 1 to {limit} (generation.max_prompt_tokens): "
                "drop it from the data or raise the limit"
            )
        if min(ids) < 0 or max(ids) >= self.folder.vocabulary:
            raise EngineError(
                f"prompt {draw.prompt.id} has token ids {min(ids)} to {max(ids)}, {self.folder.path} knows 0 to "
                f"{self.folder.vocabulary - 1}: was it tokenised with another model's tokenizer?"
            )
        if key in self._running:
            raise EngineError(f"prompt {draw.prompt.id} draw {draw.index} is already running: give every draw of a prompt its own index")
        if len(draw.begun) >= self.generation.max_response_tokens:
            raise EngineError(
                f"prompt {draw.prompt.id} draw {draw.index} has {len(draw.begun)} tokens already, and a response may have "
                f"{self.generation.max_response_tokens} (generation.max_response_tokens), so it cannot go on"
            )
        self._start(draw)
        self._running[key] = draw

    def step(self) -> list[Response]:
        """One decoding step for all running draws; those that finished, in no particular order.

        Raises ResponseError for a response that cannot be used. That draw is over; the others are not affected: go on with step().
        """
        if not self._running:
            return []
        self._require_weights()
        self._ended.extend(self._decode())
        finished: list[Response] = []
        while self._ended:
            error = _fault_in(self._ended[0])
            if error is not None and finished:
                break  # hand out the good ones now, raise at the next step
            ended = self._ended.popleft()
            del self._running[ended.draw.prompt.id, ended.draw.index]
            if error is not None:
                self._suspect_cache = True
                raise error
            finished.append(self._response(ended))
        return finished

    def abort(self, draws: Iterable[Draw]) -> int:
        """End draws; they never show up again. A draw that does not run (it finished, say) is left alone. The tokens they had so far."""
        return sum(len(had.token_ids) for _, had in self._stop(draws))

    def interrupt(self, draws: Iterable[Draw]) -> list[Draw]:
        """End draws for now: those of them that ran, each with all that is written of it as `begun`, to be submitted again.

        Where log-probs are no numbers, or the end is written already (only beside such a one), a draw comes back as it was submitted.
        """
        return [self._resting(draw, had) for draw, had in self._stop(draws)]

    def _stop(self, draws: Iterable[Draw]) -> list[tuple[Draw, Tokens]]:
        keys = [key for draw in draws if (key := (draw.prompt.id, draw.index)) in self._running]
        had = self._end(keys) if keys else {}
        self._ended = deque(ended for ended in self._ended if (ended.draw.prompt.id, ended.draw.index) not in keys)
        return [(self._running.pop(key), had.get(key, Tokens([], []))) for key in keys]

    def _resting(self, draw: Draw, had: Tokens) -> Draw:
        if not all(map(math.isfinite, had.logprobs)):
            self._suspect_cache = True
            return draw
        if not had.token_ids:
            return draw
        begun, versions = draw.begun, (*draw.begun.versions, (self.weight_version, len(had.token_ids)))
        return replace(draw, begun=Written(begun.token_ids + tuple(had.token_ids), begun.logprobs + tuple(had.logprobs), versions))

    def load_weights(self, weights: Iterable[tuple[str, torch.Tensor]], version: int) -> None:
        """Replace every weight by the full tensor of its Hugging Face name, one at a time, each parameter exactly once.

        A tied head comes under the embedding's name only. A tensor may be reused or freed once the next one is asked for.
        Raises EngineError for a missing, surplus, doubled or misshapen tensor, and whatever `weights` raises; after any of it
        the engine refuses to generate until a complete load.
        """
        self._require_idle("load weights")
        self.weight_version, self._overwritten = UNKNOWN, True
        self._refusal = f"loading weight version {version} did not complete, so it may hold a mixture: load a complete set"
        self.received = Fingerprint()
        if self._asleep:  # one after the other: the sync's buffers and the cache need not stand beside each other
            self._wake("weights")
        self._replace(self._checked(weights))
        if self._asleep:
            self._wake("kv_cache")
            self._asleep = False
        if self._suspect_cache:
            self._wipe_cache()
        self.weight_version, self._refusal, self._suspect_cache = version, None, False

    def sleep(self) -> None:
        """Leave the device's memory to the update, until the next load_weights; without effect on engines that cannot.

        Refused while draws run: their keys and values would be lost.
        """
        self._require_idle("sleep")
        if not self._asleep and self._sleep():
            self.refuse("it sleeps: load_weights wakes it")
            self._asleep = self._overwritten = True

    def trust_folder_weights(self, version: int) -> None:
        """Generate from the weights of the model folder itself, as evaluation does; refused once anything else was loaded."""
        if self._overwritten:
            raise EngineError(
                f"the weights of {self.folder.path} are no longer in the engine: load_weights instead, or start another engine"
            )
        self.weight_version, self._refusal = version, None

    def refuse(self, reason: str) -> None:
        """Generate no more until the next complete load."""
        self.weight_version, self._refusal, self._suspect_cache = UNKNOWN, reason, True

    def score(self, sequences: Sequence[tuple[int, ...]]) -> list[list[float]]:
        """Log-prob at temperature 1 of each token but the first, given those before it, under the engine's own weights."""
        self._require_idle("score")
        self._require_weights()
        short = [len(sequence) for sequence in sequences if len(sequence) < 2]
        if short:
            raise EngineError(f"a sequence of {short[0]} tokens has no token to score: give at least 2")
        return self._score(sequences) if sequences else []

    def _response(self, ended: Ended) -> Response:
        finish: FinishReason = "stop" if ended.reason == "stop" else "length"
        draw, begun = ended.draw, ended.draw.begun
        ids, logprobs = begun.token_ids + tuple(ended.token_ids), begun.logprobs + tuple(ended.logprobs)
        return Response(draw.prompt.id, draw.index, ids, logprobs, finish, self.weight_version, begun.versions)

    def _require_weights(self) -> None:
        if self._refusal is not None:
            raise EngineError(f"the engine refuses to generate: {self._refusal}")

    def _require_idle(self, what: str) -> None:
        if self._running:
            raise EngineError(f"cannot {what} while {len(self._running)} draws run: finish or abort them first")

    def _checked(self, weights: Iterable[tuple[str, torch.Tensor]]) -> Iterator[tuple[str, torch.Tensor]]:
        missing = dict(self.folder.shapes)
        for name, tensor in weights:
            if name not in missing:
                known = "came twice" if name in self.folder.shapes else "is no parameter"
                raise EngineError(f"weight {name} {known} of the model in {self.folder.path}: send each of its parameters once")
            if tensor.shape != (shape := missing.pop(name)):
                raise EngineError(
                    f"weight {name} has shape {tuple(tensor.shape)}, the model needs {tuple(shape)}: a shard, or another model's weight?"
                )
            self.received.add(name, tensor)
            yield name, tensor
        if missing:
            raise EngineError(
                f"{len(missing)} of {len(self.folder.shapes)} weights never came, the first is {next(iter(missing))}: send all"
            )


def _fault_in(ended: Ended) -> ResponseError | None:
    """Why the response cannot be used: its log-probs are not one finite number for each token, or its reason to end is unknown."""
    fault = None
    if len(ended.token_ids) != len(ended.logprobs):
        fault = f"{len(ended.token_ids)} token ids but {len(ended.logprobs)} log-probs"
    elif ended.reason not in ("stop", "length"):
        fault = f"ended with reason {ended.reason!r}, allowed are 'stop' and 'length'"
    elif not all(map(math.isfinite, ended.logprobs)):
        position = next(place for place, logprob in enumerate(ended.logprobs) if not math.isfinite(logprob))
        fault = (
            f"log-prob {ended.logprobs[position]} for token id {ended.token_ids[position]} at position {position} of the response, "
            "allowed are finite numbers: look for NaN in the weights (a diverged update, a broken checkpoint)"
        )
    return None if fault is None else ResponseError(ended.draw.prompt.id, ended.draw.index, fault)
