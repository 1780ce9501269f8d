"""The actor: the policy's weights and optimizer, sharded over the ranks by DeepSpeed ZeRO, on CPU and GPU alike.

Every method but `updates` is collective: all ranks call it together, with equally many micro-batches (see ada/trainer/batching.py).
"""

from __future__ import annotations

import itertools
import logging
import math
from collections.abc import Callable, Iterator
from collections.abc import Sequence as Many
from pathlib import Path
from typing import Literal

import deepspeed
import torch
import torch.distributed as dist

from ada.contracts import Loss
from ada.trainer import export, full_state
from ada.trainer.batching import pack, to_batch
from ada.trainer.config import TrainerConfig, learning_rate
from ada.trainer.deepspeed_config import deepspeed_config, sharded_linear
from ada.trainer.detour import Detour, decoder_layers
from ada.trainer.entropy_guidance import guided
from ada.trainer.errors import OutOfMemory
from ada.trainer.packed import masked
from ada.trainer.pieces import fitted, on, padded, slots
from ada.trainer.policy import load_policy
from ada.trainer.reference import Reference
from ada.trainer.statistics import Sums, UpdateStats
from ada.types import Batch, Sequence

log = logging.getLogger(__name__)


class Actor:
    def __init__(
        self,
        engine: deepspeed.DeepSpeedEngine,
        trainer: TrainerConfig,
        source: Path,
        temperature: float,
        detour: Detour,
        reference: Reference | None = None,
    ):
        self.engine = engine
        self.detour = detour
        self.reference = reference  # where trainer.kl is set
        self.trainer = trainer
        self.source = source
        self.temperature = temperature
        self.updates = 0  # optimizer steps taken
        self.budget = trainer.micro_batch_tokens  # slots of a micro-batch; halved whenever memory runs out

    @classmethod
    def start(cls, model_folder: str | Path, trainer: TrainerConfig, dtype: torch.dtype, temperature: float) -> Actor:
        """Loads the model of a Hugging Face folder. `temperature` is the sampler's: log-probs are those of the law it samples from.

        The process group must exist (ada/trainer/distributed.py). Weights are `dtype` in the passes, float32 in the optimizer.
        """
        config = deepspeed_config(trainer, dtype)
        policy = load_policy(Path(model_folder), dtype, trainer.gradient_checkpointing, config if trainer.zero_stage == 3 else None)
        optimizer = torch.optim.AdamW(
            policy.parameters(),
            lr=trainer.learning_rate,
            betas=(trainer.beta1, trainer.beta2),
            eps=trainer.epsilon,
            weight_decay=trainer.weight_decay,
            fused=True,
        )
        if trainer.zero_stage == 3:  # a decoder layer is gathered and released as a whole, so that a rank can go around it
            deepspeed.utils.set_z3_leaf_modules(policy, [type(decoder_layers(policy)[0])])
        engine, *_ = deepspeed.initialize(model=policy, optimizer=optimizer, config=config, dist_init_required=False)
        reference = Reference(Path(model_folder), trainer, dtype, engine.device) if trainer.kl else None
        return cls(engine, trainer, Path(model_folder), temperature, Detour(policy), reference)

    @torch.no_grad()
    def logprobs(self, batches: Many[Batch]) -> list[torch.Tensor]:
        """[R, L] float32 log-probs of the response tokens at the sampler's temperature, 0 outside the mask; one tensor per micro-batch."""
        with sharded_linear(self.trainer):
            return [self._forward(on(batch, self.engine.device), self.temperature)[0] for batch in batches]

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
        retries, pooled = 0, self._accumulate(batches, old, loss)
        while pooled["out_of_memory"]:
            retries += 1
            self._step(rate, spoilt=True)  # DeepSpeed forgets the gradient
            self._halve_budget(batches)
            pooled = self._accumulate(batches, old, loss)
        norm = self._step(rate, spoilt=not math.isfinite(pooled["loss"]))
        if not math.isfinite(norm):
            found: Literal["loss", "gradient"] = "gradient" if math.isfinite(pooled["loss"]) else "loss"
            return UpdateStats(tokens, sequences, rate, skipped=True, not_finite=found, memory_retries=retries)
        self.updates += 1
        replayed = int(pooled["replayed"])
        known = ("loss", "entropy", "mismatch", "mismatch_max", "replayed", "replay_log_ratio", "out_of_memory")
        return UpdateStats(
            tokens=tokens,
            sequences=sequences,
            learning_rate=rate,
            loss=pooled["loss"],
            grad_norm=norm,
            entropy=pooled["entropy"] / tokens,
            mismatch_abs_mean=pooled["mismatch"] / max(tokens - replayed, 1),
            mismatch_abs_max=pooled["mismatch_max"],
            replayed_tokens=replayed,
            replay_log_ratio_abs_mean=pooled["replay_log_ratio"] / replayed if replayed else None,
            diagnostics={name: value / tokens for name, value in pooled.items() if name not in known},
            memory_retries=retries,
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
        batches = pack(asked, 0, 1, self.trainer.micro_batch_tokens, self.trainer.row_tokens)
        most = torch.tensor(len(batches), device=self.engine.device)
        dist.all_reduce(most, op=dist.ReduceOp.MAX)
        found: list[list[float]] = [[] for _ in sequences]
        for batch in batches + [to_batch([], [], 0, 0)] * (int(most) - len(batches)):
            with torch.no_grad(), sharded_linear(self.trainer):
                logprobs = self._forward(on(batch, self.engine.device), 1.0)[0].cpu()
            for index, value in zip(batch.sequence_RL[batch.mask_RL].tolist(), logprobs[batch.mask_RL].tolist(), strict=True):
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

    def _accumulate(self, batches: Many[Batch], old: Many[torch.Tensor | None], loss: Loss) -> dict[str, float]:
        """Adds up the gradient of all micro-batches. DeepSpeed averages over ranks, hence the factor; the loss is a sum over all.

        `out_of_memory`: of so many ranks. The gradient is then worth nothing, on any rank.
        """
        pieces = fitted(zip(batches, old, strict=True), self.budget)
        if self.budget < self.trainer.micro_batch_tokens:
            pieces = padded(pieces, self._largest_of_ranks(len(pieces)))
        sums = Sums(self.engine.device)
        with sharded_linear(self.trainer), self.detour.allowed():
            for k, (batch, before) in enumerate(pieces):
                self.engine.set_gradient_accumulation_boundary(k == len(pieces) - 1)
                self.detour.next_micro_batch()
                self._backward(self._loss(batch, before, loss, sums) * dist.get_world_size())
            sums.add("out_of_memory", torch.tensor(float(self.detour.failed)))
        return sums.pooled()

    def _backward(self, total: torch.Tensor) -> None:
        """Raises OutOfMemory where a pass that memory cut short cannot be taken back: with other ranks in it, or in stages 1 and 2."""
        try:
            self.engine.backward(total)
        except torch.OutOfMemoryError as error:
            if dist.get_world_size() > 1 or self.trainer.zero_stage in (1, 2):
                raise OutOfMemory(
                    f"the backward pass ran out of memory ({str(error).splitlines()[0]}), and cannot be repeated: lower "
                    f"trainer.micro_batch_tokens = {self.trainer.micro_batch_tokens} and resume"
                ) from error
            self.detour.failed = True
            self.engine._backward_epilogue()  # settles what the pass left in DeepSpeed's buckets

    def _halve_budget(self, batches: Many[Batch]) -> None:
        """For this update and those to come, on all ranks alike. Raises OutOfMemory where the largest micro-batch is one sequence."""
        largest = self._largest_of_ranks(max(slots(batch) for batch, _ in fitted([(b, None) for b in batches], self.budget)))
        self.budget = min(self.budget, largest) // 2
        after = self._largest_of_ranks(max(slots(batch) for batch, _ in fitted([(b, None) for b in batches], self.budget)))
        if after == largest:
            raise OutOfMemory(
                f"the update ran out of memory on a single sequence of {largest} tokens: set trainer.gradient_checkpointing=true, lower "
                "generation.max_response_tokens, or use more ranks (NPROC) with trainer.zero_stage=3"
            )
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
        log.warning("out of memory: the update is repeated with micro-batches of at most %d tokens, as are those to come", self.budget)

    def _largest_of_ranks(self, number: int) -> int:
        of_ranks = torch.tensor(number, device=self.engine.device)
        dist.all_reduce(of_ranks, op=dist.ReduceOp.MAX)
        return int(of_ranks)

    def _loss(self, batch: Batch, old: torch.Tensor | None, loss: Loss, sums: Sums) -> torch.Tensor:
        """The micro-batch's share of the update's loss: policy loss, corrected, minus entropy bonus, plus the pull to the reference."""
        trainer = self.trainer
        logprobs, entropy = self._forward(batch, self.temperature, entropy_gradient=trainer.entropy_coefficient > 0)
        batch = guided(batch, entropy)
        if old is None:
            old = logprobs.detach() if trainer.old_logprobs == "recomputed" else batch.sampler_logprobs_RL
        old = torch.where(batch.replayed_RL, batch.sampler_logprobs_RL, old)
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
        mismatch = masked(ours - batch.sampler_logprobs_RL, batch).abs() * ~batch.replayed_RL
        sums.add("loss", total)
        sums.add("entropy", entropy)
        sums.add("mismatch", mismatch)
        sums.maximum("mismatch_max", mismatch)
        sums.add("replayed", batch.replayed_RL)
        sums.add("replay_log_ratio", torch.where(batch.replayed_RL, logprobs - batch.sampler_logprobs_RL, 0.0).abs())
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
        if spoilt:
            shape = getattr(parameters[0], "ds_shape", parameters[0].shape)
            deepspeed.utils.safe_set_full_grad(parameters[0], torch.full(tuple(shape), math.nan, device=self.engine.device))
        self.engine.step()
        return float(self.engine.get_global_grad_norm())
