"""An engine that several ranks hold together, each with a share of every weight: one of them decides, the others do as it does.

All of them must make the same requests and steps in the same order, or they wait for each other for ever. What is asked of an engine
depends on when verdicts come, so the first rank alone collects. Before each step it tells the others what it has asked for since the last.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from hashlib import blake2b
from typing import Literal, NamedTuple

import torch
import torch.distributed as dist

from ada.contracts import EngineMethod
from ada.engine.base import GuardedEngine
from ada.engine.errors import EngineError, ResponseError
from ada.engine.fingerprint import Fingerprint
from ada.engine.generation import Generation
from ada.recipe.errors import RecipeError
from ada.types import Draw, Response

Call = tuple[Literal["submit", "abort"], list[Draw]]


def require_whole_engines(method: EngineMethod, world: int) -> None:
    """Raises RecipeError where the job's `world` ranks are not a whole number of engines."""
    if world % method.ranks:
        raise RecipeError(
            f"engine.tensor_parallel = {method.ranks}, but the job has {world} rank(s), and each engine takes {method.ranks} of them: "
            f"set NPROC so that NPROC * NNODES is a multiple of {method.ranks}, or engine.tensor_parallel to a divisor of {world}"
        )


class Turn(NamedTuple):
    """What the first rank tells the others."""

    calls: list[Call]  # since the last turn, in their order
    step: bool  # then all of them decode; False: the collection is over
    seen: str  # fingerprint of what the last step gave


class Lockstep:
    """`engine`: this rank's share; all ranks make theirs together. Groups of `ranks` consecutive ranks hold one engine each."""

    def __init__(self, engine: GuardedEngine, ranks: int) -> None:
        self.engine, self.ranks = engine, ranks
        self._group, _ = dist.new_subgroups(ranks, backend="gloo")
        self._first = dist.get_global_rank(self._group, 0)
        self._calls: list[Call] = []  # that the others have yet to hear of
        self._seen = ""

    @property
    def weight_version(self) -> int:
        return self.engine.weight_version

    @property
    def received(self) -> Fingerprint:
        return self.engine.received

    def drive(self, act: Callable[[], None], turn: Callable[[], object]) -> None:
        """Where `act` fails, the others are told nothing: they may be in the middle of a step. The end of the job ends them."""
        if dist.get_rank() == self._first:
            act()
            self._tell(step=False)
            return
        while self._hear():
            turn()

    def submit(self, draw: Draw) -> None:
        self.engine.submit(draw)
        self._calls.append(("submit", [draw]))

    def step(self) -> list[Response]:
        self._tell(step=True)
        return self._step()

    def abort(self, draws: Iterable[Draw]) -> int:
        ended = list(draws)
        self._calls.append(("abort", ended))
        return self.engine.abort(ended)

    def interrupt(self, draws: Iterable[Draw]) -> list[Draw]:
        """The others end them; what is written of them is known where they are decided upon."""
        ended = list(draws)
        self._calls.append(("abort", ended))
        return self.engine.interrupt(ended)

    def _tell(self, step: bool) -> None:
        dist.broadcast_object_list([Turn(self._calls, step, self._seen)], src=self._first, group=self._group)
        self._calls = []

    def _hear(self) -> bool:
        """Does what the first rank did; whether there is more to come."""
        heard: list[Turn] = [Turn([], False, "")]
        dist.broadcast_object_list(heard, src=self._first, group=self._group)
        turn = heard[0]
        if turn.seen != self._seen:
            raise EngineError(
                f"ranks {self._first} and {dist.get_rank()} hold one engine (engine.tensor_parallel = {self.ranks}) and drew different "
                "tokens from the same requests, so they would soon wait for each other for ever: are they unlike in hardware or versions? "
                "Else set engine.tensor_parallel=1"
            )
        for call, draws in turn.calls:
            if call == "abort":
                self.engine.abort(draws)
            else:
                self.engine.submit(*draws)
        if turn.step:
            try:
                self._step()
            except ResponseError:  # the first rank got it too, and sees to it
                pass
        return turn.step

    def _step(self) -> list[Response]:
        try:
            responses = self.engine.step()
        except ResponseError as error:
            self._note(str(error))
            raise
        self._note(*((response.prompt_id, response.draw, response.token_ids) for response in responses))
        return responses

    def _note(self, *given: object) -> None:
        if given:
            self._seen = blake2b(f"{self._seen}{given}".encode(), digest_size=16).hexdigest()

    # What all ranks that hold the engine are asked for together.

    def drawing(self, law: Generation) -> AbstractContextManager[None]:
        return self.engine.drawing(law)

    def load_weights(self, weights: Iterable[tuple[str, torch.Tensor]], version: int) -> None:
        self.engine.load_weights(weights, version)

    def trust_folder_weights(self, version: int) -> None:
        self.engine.trust_folder_weights(version)

    def score(self, sequences: Sequence[tuple[int, ...]]) -> list[list[float]]:
        return self.engine.score(sequences)

    def sleep(self) -> None:
        self.engine.sleep()

    def refuse(self, reason: str) -> None:
        self.engine.refuse(reason)

    def close(self) -> None:
        self.engine.close()
