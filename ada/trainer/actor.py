"""The actor: the policy's weights and optimizer, sharded over the ranks by DeepSpeed ZeRO, on CPU and GPU alike.

All methods are collective: every rank calls them together, in the same order, with at least one micro-batch (see ada/trainer/batching.py).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from collections.abc import Sequence as Many
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, TypeVar

import deepspeed
import torch
import torch.distributed as dist
from deepspeed.runtime.bf16_optimizer import BF16_Optimizer
from deepspeed.runtime.zero.stage_1_and_2 import DeepSpeedZeroOptimizer

from ada.contracts import Loss
from ada.trainer import export, full_state
from ada.trainer.batching import pack, to_batch
from ada.trainer.budget import Budget
from ada.trainer.config import TrainerConfig, learning_rate
from ada.trainer.deepspeed_config import deepspeed_config, sharded_linear
from ada.trainer.detour import Detour, decoder_layers, whole_layers
from ada.trainer.entropy_guidance import guided
from ada.trainer.errors import OutOfMemory
from ada.trainer.packed import masked
from ada.trainer.pieces import Piece, on, slots
from ada.trainer.policy import load_policy
from ada.trainer.reference import Reference
from ada.trainer.statistics import Sums, UpdateStats
from ada.trainer.work import Work
from ada.types import Batch, Sequence

T = TypeVar("T")


class Actor:
    def __init__(
        self,
        engine: deepspeed.DeepSpeedEngine,
        trainer: TrainerConfig,
        source: Path,
        temperature: float,
        detour: Detour,
        work: Work,
        reference: Reference | None = None,
    ):
        self.engine = engine
        self.detour = detour
        self.work = work  # what `pack` deals to ranks by
        self.reference = reference  # where trainer.kl is set
        self.trainer = trainer
        self.source = source
        self.temperature = temperature
        self.updates = 0  # optimizer steps taken
        self.budget = Budget(trainer.micro_batch_tokens, engine.device)

    @classmethod
    def start(cls, model_folder: str | Path, trainer: TrainerConfig, dtype: torch.dtype, temperature: float) -> Actor:
        """Loads the model of a Hugging Face folder. `temperature` is the sampler's: log-probs are those of the law it samples from.

        The process group must exist (ada/trainer/distributed.py). Weights are `dtype` in the passes, float32 in the optimizer.
        """
        config = deepspeed_config(trainer, dtype)
        policy = load_policy(Path(model_folder), dtype, config if trainer.zero_stage == 3 else None)
        in_layers = sum(getattr(p, "ds_numel", p.numel()) for layer in decoder_layers(policy) for p in layer.parameters())
        optimizer = torch.optim.AdamW(
            policy.parameters(),
            lr=trainer.learning_rate,
            betas=(trainer.beta1, trainer.beta2),
            eps=trainer.epsilon,
            weight_decay=trainer.weight_decay,
            fused=True,
        )
        if trainer.zero_stage == 3:
            whole_layers(policy)
        engine, *_ = deepspeed.initialize(model=policy, optimizer=optimizer, config=config, dist_init_required=False)
        reference = Reference(Path(model_folder), trainer, dtype, engine.device) if trainer.kl else None
        policies = [policy, reference.policy] if reference else [policy]
        detour = Detour(*policies, recompute=trainer.gradient_checkpointing)
        work = Work.of_model(policy.model.config, in_layers)
        return cls(engine, trainer, Path(model_folder), temperature, detour, work, reference)

    @torch.no_grad()
    def passes(self, pieces: Many[Piece], temperature: float, read: Callable[[Piece, torch.Tensor], T]) -> list[T]:
        """What `read` makes of each micro-batch, and what was cut along with it, and its [R, L] log-probs, in passes without gradient.

        Where memory runs out on any rank, all are repeated from smaller micro-batches. The ranks may have unequally many, but at least one.
        """
        pieces = [(on(batch, self.engine.device), beside) for batch, beside in pieces]
        while True:
            found = []
            with self._computing():
                for piece in self.budget.parts(pieces):
                    found.append(read(piece, self._forward(piece[0], temperature)[0]))
            if not self.budget.largest_of_ranks(int(self.detour.failed)):
                return found
            self.budget.halve(pieces)

    def logprobs(self, batches: Many[Batch]) -> list[torch.Tensor]:
        """[R, L] float32 log-probs of the response tokens at the sampler's temperature, 0 outside the mask; one tensor per micro-batch."""
        ends = list(itertools.accumulate(map(slots, batches), initial=0))
        places = [
            torch.arange(start, end, device=self.engine.device).view_as(batch.tokens_RL)
            for batch, start, end in zip(batches, ends, ends[1:], strict=False)
        ]
        found = torch.zeros(ends[-1], device=self.engine.device)

        def read(piece: Piece, logprobs: torch.Tensor) -> None:
            batch, place = piece
            if place is not None:
                found[place[batch.mask_RL]] = logprobs[batch.mask_RL]

        if batches:
            self.passes(list(zip(batches, places, strict=True)), self.temperature, read)
        return [found[place] for place in places]

    def old_logprobs(self, batches: Many[Batch]) -> list[torch.Tensor]:
        """[R, L] log-probs that later updates of the step take their ratio from; to be asked for before its first."""
        if self.trainer.old_logprobs == "from_sampler":
            return [batch.sampler_logprobs_RL for batch in batches]
        return self.logprobs(batches)

    def update(self, batches: Many[Batch], old_logprobs: Many[torch.Tensor] | None, loss: Loss) -> UpdateStats:
        """One optimizer step on the micro-batches of one update; all of them carry the update's global denominators.

        `old_logprobs` are those of the method of this name, taken before the step's first update. None: this is the first, and needs none.
        Where loss or gradient is not finite on any rank, the step is not taken: weights, moments and `updates` stay as they were.
        Raises ValueError where the batches are not the whole update.
        """
        batches = [on(batch, self.engine.device) for batch in batches]
        tokens, sequences = (batches[0].update_tokens, batches[0].update_sequences) if batches else (0, 0)
        rate = learning_rate(self.trainer, self.updates)
        if not self._has_gradient(batches, loss, tokens):
            return UpdateStats(tokens, sequences, rate, skipped=True)
        old = [None] * len(batches) if old_logprobs is None else [o.to(self.engine.device) for o in old_logprobs]
        pieces = list(zip(batches, old, strict=True))
        while (pooled := self._accumulate(pieces, loss))["out_of_memory"]:
            self._step(rate, spoilt=True)  # DeepSpeed forgets the gradient
            self.budget.halve(pieces)
        norm = self._step(rate, spoilt=not math.isfinite(pooled["loss"]))
        if not math.isfinite(norm):
            found: Literal["loss", "gradient"] = "gradient" if math.isfinite(pooled["loss"]) else "loss"
            return UpdateStats(tokens, sequences, rate, skipped=True, not_finite=found)
        self.updates += 1
        stale = int(pooled["stale"])
        known = ("loss", "entropy", "mismatch", "mismatch_max", "stale", "stale_log_ratio", "out_of_memory")
        return UpdateStats(
            tokens=tokens,
            sequences=sequences,
            learning_rate=rate,
            loss=pooled["loss"],
            grad_norm=norm,
            entropy=pooled["entropy"] / tokens,
            mismatch_abs_mean=pooled["mismatch"] / max(tokens - stale, 1),
            mismatch_abs_max=pooled["mismatch_max"],
            stale_tokens=stale,
            stale_log_ratio_abs_mean=pooled["stale_log_ratio"] / stale if stale else None,
            diagnostics={name: value / tokens for name, value in pooled.items() if name not in known},
        )

    def named_weights(self) -> Iterator[tuple[str, torch.Tensor]]:
        """Every weight whole, under Hugging Face's name (a tied head once), one decoder layer at a time.

        A tensor is only lent: copy it before asking for the next.
        """
        named = [(name.removeprefix("model."), p) for name, p in self.engine.module.named_parameters()]
        for _, group in itertools.groupby(named, key=lambda item: full_state.layer_of(item[0])):
            layer = list(group)
            with deepspeed.zero.GatheredParameters([p for _, p in layer], enabled=self.trainer.zero_stage == 3):
                yield from ((name, p.detach()) for name, p in layer)

    def token_logprobs(self, sequences: Many[tuple[int, ...]]) -> list[list[float]]:
        """Log-prob at temperature 1 of each token but the first, under the current weights. Each rank may ask for sequences of its own."""
        asked = [Sequence(s[:1], s[1:], (0.0,) * (len(s) - 1), 0.0, 0) for s in sequences]
        batches = pack(asked, 0, 1, self.trainer.micro_batch_tokens, self.trainer.row_tokens) or [to_batch([], [], 0, 0)]

        def read(piece: Piece, logprobs: torch.Tensor) -> tuple[list[int], list[float]]:
            batch, _ = piece
            return batch.sequence_RL[batch.mask_RL].tolist(), logprobs[batch.mask_RL].tolist()

        found: list[list[float]] = [[] for _ in sequences]
        for owners, values in self.passes([(batch, None) for batch in batches], 1.0, read):
            for index, value in zip(owners, values, strict=True):
                found[index].append(value)
        return found

    def save_hf(self, folder: str | Path) -> None:
        """A Hugging Face folder: weights, and config and tokenizer of the model it started from."""
        export.save_hf(Path(folder), self.source, self.named_weights())

    def state(self, keep: Callable[[int], bool]) -> Iterator[tuple[int, dict[str, torch.Tensor]]]:
        """Master weights and moments, a numbered layer at a time, for any world size to load. Collective; see ada/trainer/full_state.py."""
        return full_state.gathered(self.engine, self.updates, keep)

    def load_state(self, updates: int, read: Callable[[str], torch.Tensor]) -> None:
        """What `state` gave after `updates` optimizer steps; `read` gives a tensor by its name. Collective."""
        full_state.restore(self.engine, updates, read)
        self.updates = updates

    def _forward(self, batch: Batch, temperature: float, entropy_gradient: bool = False) -> tuple[torch.Tensor, torch.Tensor]:
        return self.engine(batch.tokens_RL, batch.positions_RL, batch.mask_RL, temperature, entropy_gradient)

    def _has_gradient(self, batches: list[Batch], loss: Loss, tokens: int) -> bool:
        """Whether any token of the update, on any rank, has a gradient at the old policy.

        Where none has, a step must not be taken: Adam's momentum would move the weights all the same.
        """
        sums = Sums(self.engine.device)
        for batch in batches:
            probe = torch.zeros_like(batch.advantages_RL, requires_grad=True)
            per_token, _ = loss.per_token(probe, torch.zeros_like(probe), batch)
            sums.add("signal", torch.autograd.grad(masked(per_token, batch).sum(), probe)[0].abs())
            sums.add("tokens", batch.mask_RL)
        pooled = sums.pooled()
        if pooled.get("tokens", 0) != tokens:
            raise ValueError(
                f"the update's micro-batches have {pooled['tokens']:.0f} response tokens over all ranks, but name {tokens} as the number: "
                "pack the same list of sequences on every rank, and pass all micro-batches of it"
            )
        return tokens > 0 and (pooled["signal"] != 0 or self.trainer.entropy_coefficient > 0 or self.trainer.kl is not None)

    def _accumulate(self, pieces: Many[Piece], loss: Loss) -> dict[str, float]:
        """Adds up the gradient of micro-batches with their old log-probs. DeepSpeed averages over ranks, hence the factor; the loss is a
        sum over all.

        `out_of_memory`: of so many ranks. The gradient is then worth nothing, on any rank.
        """
        parts = self.budget.parts(pieces)
        sums = Sums(self.engine.device)
        with self._computing():
            for k, (batch, before) in enumerate(parts):
                self.engine.set_gradient_accumulation_boundary(k == len(parts) - 1)
                total = self._loss(batch, before, loss, sums) * dist.get_world_size()
                if isinstance(self.engine.optimizer, DeepSpeedZeroOptimizer):
                    self.detour.attempt(self.engine.optimizer.setup_buckets)  # which DeepSpeed makes, where they lack, in mid-pass
                self.engine.backward(total)
            sums.add("out_of_memory", torch.tensor(float(self.detour.failed)))
        return sums.pooled()

    @contextmanager
    def _computing(self) -> Iterator[None]:
        """Inside, a rank whose memory runs out goes on with the others. Raises OutOfMemory where it cannot."""
        try:
            with sharded_linear(self.trainer), self.detour.allowed():
                yield
        except torch.OutOfMemoryError as error:
            raise OutOfMemory(
                f"memory ran out where a pass can be neither finished nor repeated, between the layers of the model "
                f"({str(error).splitlines()[0]}): lower trainer.micro_batch_tokens = {self.trainer.micro_batch_tokens} and resume"
            ) from error

    def _loss(self, batch: Batch, old: torch.Tensor | None, loss: Loss, sums: Sums) -> torch.Tensor:
        """The micro-batch's share of the update's loss: policy loss, corrected, minus entropy bonus, plus the pull to the reference."""
        trainer = self.trainer
        logprobs, entropy = self._forward(batch, self.temperature, entropy_gradient=trainer.entropy_coefficient > 0)
        batch = guided(batch, entropy)
        if old is None:
            old = logprobs.detach() if trainer.old_logprobs == "recomputed" else batch.sampler_logprobs_RL
        old = torch.where(batch.stale_RL, batch.sampler_logprobs_RL, old)
        per_token, diagnostics = loss.per_token(logprobs, old, batch)
        per_token = masked(per_token, batch)
        if trainer.correction is not None:
            corrected, of_correction = trainer.correction.weights(old, batch)
            per_token, diagnostics = corrected * per_token, diagnostics | of_correction
        if trainer.kl is not None and self.reference is not None:
            kl = trainer.kl.per_token(logprobs, self.reference.logprobs(batch, self.temperature), batch)
            per_token, diagnostics = per_token + trainer.kl.coefficient * kl, diagnostics | {"kl": kl}
        if trainer.entropy_coefficient > 0:
            per_token = per_token - trainer.entropy_coefficient * entropy
        total = (trainer.aggregation.weights(batch) * per_token).sum()
        ours = old if trainer.old_logprobs == "recomputed" else logprobs.detach()
        mismatch = masked(ours - batch.sampler_logprobs_RL, batch).abs() * ~batch.stale_RL
        sums.add("loss", total)
        sums.add("entropy", entropy)
        sums.add("mismatch", mismatch)
        sums.maximum("mismatch_max", mismatch)
        sums.add("stale", batch.stale_RL)
        sums.add("stale_log_ratio", torch.where(batch.stale_RL, logprobs - batch.sampler_logprobs_RL, 0.0).abs())
        for name, values in diagnostics.items():
            sums.add(name, masked(values, batch))
        return total

    def _step(self, rate: float, spoilt: bool) -> float:
        """Takes the optimizer step; the gradient's norm before clipping. Not finite: no rank has taken it.

        Under ZeRO, DeepSpeed leaves a step out where the norm over all ranks is not finite. `spoilt`: leave it out in any case.
        """
        for group in self.engine.optimizer.param_groups:
            group["lr"] = rate
        parameters = list(self.engine.module.parameters())
        if self.trainer.zero_stage == 0:  # DeepSpeed keeps the norm to itself, and steps whatever it is
            norm = math.nan if spoilt else float(torch.nn.utils.get_total_norm([p.grad for p in parameters]))
            if math.isfinite(norm):
                self.engine.step()
            else:
                self.engine.zero_grad()
            return norm
        if spoilt and isinstance(self.engine.optimizer, BF16_Optimizer):  # whose gradient is not where DeepSpeed sets it
            self.engine.optimizer.zero_grad()
            return math.nan
        if spoilt:
            shape = getattr(parameters[0], "ds_shape", parameters[0].shape)
            deepspeed.utils.safe_set_full_grad(parameters[0], torch.full(tuple(shape), math.nan, device=self.engine.device))
        self.engine.step()
        return float(self.engine.get_global_grad_norm())
