"""The contracts between the parts, all in one place. Each axis is a folder, each method a small file found by its name.

A method is a frozen dataclass: its fields are its recipe keys, its one or two functions are its behaviour.
Where a method remembers something, `start` makes the thing that remembers, and that is Stateful: checkpoints hold it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import torch

from ada.engine.fingerprint import Fingerprint
from ada.engine.generation import Generation
from ada.types import Attempt, Batch, Draw, Group, Outcome, PassRate, Pool, Prompt, Response

if TYPE_CHECKING:
    from ada.memory.model import ModelSize


class Stateful(Protocol):
    """What a part remembers from step to step, as a checkpoint holds it. It is asked for after every step, on every rank.

    Plain data and tensors (torch.load reads it with weights_only): dict, list, tuple, str, int, float, bool, None, Tensor. The same on all
    ranks, whatever their number. Loaded into a part that `start` has just made, the part goes on as if it had never stopped.
    """

    def state_dict(self) -> dict[str, Any]:
        """A copy: what the part learns later does not change it."""

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """`state` stays as it is, also when the part learns later."""


class Method(Protocol):
    @property
    def name(self) -> str:
        """What a recipe calls it."""


class Schedule(Method, Protocol):  # ada/sampling/schedules: how many draws each prompt gets, and when it is done
    @property
    def check_every(self) -> int:
        """M: draws of a prompt between two looks at its stop rule."""

    def budgets(self, pools: Sequence[Pool]) -> list[int]:
        """Draws each pool of the step may have in all. Asked at the start, and again when every budget is used up, until none grows."""

    def stop(self, pool: Pool) -> Outcome | None:
        """Looks at the first M, 2M, ... draws of one prompt, in the order of their indices; None: go on."""


class PassRateMethod(Method, Protocol):  # ada/sampling/passrate: what is believed of p(x) before sampling
    def start(self, states: PromptStates) -> PassRateEstimator: ...


class PromptStates(Protocol):  # what the policy makes of prompts, for a method that reads them; collective
    def of(self, prompts: Sequence[Prompt]) -> torch.Tensor:
        """[B, F] float32 on the CPU, the same on every rank."""

    def agreed(self, values: list[float]) -> list[float]:
        """The same on every rank: the first one's."""


class PassRateEstimator(Stateful, Protocol):
    def believe(self, prompts: Sequence[Prompt]) -> list[PassRate]: ...
    def learn(self, pools: Sequence[Pool]) -> None: ...


class Grouping(Method, Protocol):  # ada/sampling/groups: the pool's attempts that are trained on
    def choose(self, pool: Pool, size: int | None, seed: int) -> list[Attempt]: ...


class Advantage(Method, Protocol):  # ada/trainer/advantages
    def advantages(self, group: Group) -> list[float]: ...


@runtime_checkable
class EntropyGuided(Advantage, Protocol):  # an advantage that the tokens of some groups share by their entropy
    def by_entropy(self, group: Group) -> bool: ...


class Objective(Method, Protocol):  # ada/trainer/objectives: J = E f(p); the weight f'(p) of a prompt's gradient
    def weight(self, pass_rate: float) -> float: ...


class Loss(Method, Protocol):  # ada/trainer/losses
    def per_token(self, logprobs: torch.Tensor, old_logprobs: torch.Tensor, batch: Batch) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
        """[R, L] log-probs -> [R, L] loss, and [R, L] diagnostics to be averaged over response tokens."""


class KL(Method, Protocol):  # ada/trainer/kl: how far the policy is from the frozen reference
    @property
    def coefficient(self) -> float:
        """Weight of the divergence in the loss."""

    def per_token(self, logprobs: torch.Tensor, reference: torch.Tensor, batch: Batch) -> torch.Tensor:
        """[R, L] log-probs of policy and reference -> [R, L] divergence; 0 outside the mask."""


class Correction(Method, Protocol):  # ada/trainer/corrections: where sampler and trainer disagree about a token
    def weights(self, old_logprobs: torch.Tensor, batch: Batch) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
        """[R, L] weight of each token's policy loss, without gradient, and [R, L] diagnostics to be averaged over response tokens."""


class Aggregation(Method, Protocol):  # ada/trainer/aggregation: from losses of tokens to the loss of an update
    def weights(self, batch: Batch) -> torch.Tensor:
        """[R, L] weight of each token's loss in the sum over all micro-batches and ranks; 0 outside the mask."""


class Selection(Method, Protocol):  # ada/data/selection: which prompts come next
    def start(self, prompts: Sequence[Prompt], seed: int) -> Selector: ...


class Selector(Stateful, Protocol):
    def next(self, count: int, beside: Collection[str] = ()) -> list[Prompt]:
        """`count` different prompts, none of those whose ids are in `beside`."""

    def learn(self, pools: Sequence[Pool]) -> None: ...


class EngineMethod(Method, Protocol):  # ada/engine/engines
    @property
    def max_concurrent(self) -> int:
        """Draws decoded together."""

    @property
    def ranks(self) -> int:
        """That hold one engine together; see Engine."""

    def memory(self, size: ModelSize, longest: int, device_bytes: int, gpu: bool) -> dict[str, int]:
        """Bytes it will hold on a rank's device, by part; `longest`: tokens of prompt and response."""

    def start(self, model_folder: str, generation: Generation, dtype: str, seed: int, evaluation: Generation | None = None) -> Engine:
        """It draws by `generation`, and has room for `evaluation`, a law that it may be told to draw by at times."""


class Engine(Protocol):  # in the trainer's process: one per rank, or a share of one that several ranks hold together
    @property
    def ranks(self) -> int:
        """That hold it together: consecutive ones."""

    @property
    def weight_version(self) -> int: ...
    @property
    def received(self) -> Fingerprint:
        """Of the weights of the last load."""

    def drive(self, act: Callable[[], None], turn: Callable[[], object]) -> None:
        """`act`, which submits, steps and aborts, on the first of the ranks that hold the engine. The others make the same calls
        of theirs in step, `turn` at each of its steps. Everything else is called by all of them, alike."""

    def drawing(self, law: Generation) -> AbstractContextManager[None]:
        """Inside, draws follow `law`. No draw may be running."""

    def submit(self, draw: Draw) -> None: ...
    def step(self) -> list[Response]:
        """One decoding step for all running draws; those that finished."""

    def abort(self, draws: Iterable[Draw]) -> int:
        """End draws; the number of tokens that were generated for them in vain, since they were submitted."""

    def interrupt(self, draws: Iterable[Draw]) -> list[Draw]:
        """End draws for now: those that ran, each with what is written of it, to be submitted again, perhaps to other weights."""

    def load_weights(self, weights: Iterable[tuple[str, torch.Tensor]], version: int) -> None:
        """Replace every weight; on any failure the engine refuses to generate until a complete load."""

    def trust_folder_weights(self, version: int) -> None:
        """Generate from the weights of the model folder itself."""

    def score(self, sequences: Sequence[tuple[int, ...]]) -> list[list[float]]:
        """Log-prob at temperature 1 of each token but the first, given those before it, under the engine's own weights."""

    def sleep(self) -> None:
        """Leave the device's memory to the update, where the engine can, until the next load_weights."""

    def refuse(self, reason: str) -> None:
        """Generate no more until the next complete load."""

    def close(self) -> None: ...
