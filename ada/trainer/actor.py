"""The actor: the policy's weights and optimizer, sharded over the ranks by DeepSpeed ZeRO, on CPU and GPU alike.

Every method but `updates` is collective: all ranks call it together, with equally many micro-batches (see ada/trainer/batching.py).
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import re
from collections.abc import Iterator
from collections.abc import Sequence as Many
from pathlib import Path

import deepspeed
import torch
import torch.distributed as dist

from ada.contracts import Loss
from ada.trainer import export
from ada.trainer.batching import pack, to_batch
from ada.trainer.config import TrainerConfig, learning_rate
from ada.trainer.deepspeed_config import deepspeed_config, sharded_linear
from ada.trainer.packed import masked
from ada.trainer.policy import load_policy
from ada.trainer.statistics import Sums, UpdateStats
from ada.types import Batch, Sequence

STATE = "actor"  # DeepSpeed's tag of a saved state


class Actor:
    def __init__(self, engine: deepspeed.DeepSpeedEngine, trainer: TrainerConfig, source: Path, temperature: float):
        self.engine = engine
        self.trainer = trainer
        self.source = source
        self.temperature = temperature
        self.updates = 0  # optimizer steps taken

    @classmethod
    def start(cls, model_folder: str | Path, trainer: TrainerConfig, dtype: torch.dtype, temperature: float) -> Actor:
        """Loads the model of a Hugging Face folder. `temperature` is the sampler's: log-probs are those of the law it samples from.

        The process group must exist (ada/trainer/distributed.py). Weights are `dtype` in the passes, float32 in the optimizer.
        """
        policy = load_policy(Path(model_folder), dtype, trainer.gradient_checkpointing)
        optimizer = torch.optim.AdamW(
            policy.parameters(),
            lr=trainer.learning_rate,
            betas=(trainer.beta1, trainer.beta2),
            eps=trainer.epsilon,
            weight_decay=trainer.weight_decay,
            fused=True,
        )
        engine, *_ = deepspeed.initialize(
            model=policy, optimizer=optimizer, config=deepspeed_config(trainer, dtype), dist_init_required=False
        )
        return cls(engine, trainer, Path(model_folder), temperature)

    @torch.no_grad()
    def logprobs(self, batches: Many[Batch]) -> list[torch.Tensor]:
        """[R, L] float32 log-probs of the response tokens at the sampler's temperature, 0 outside the mask; one tensor per micro-batch."""
        with sharded_linear(self.trainer):
            return [self._forward(self._on_device(batch), self.temperature)[0] for batch in batches]

    def update(self, batches: Many[Batch], old_logprobs: Many[torch.Tensor] | None, loss: Loss) -> UpdateStats:
        """One optimizer step on the micro-batches of one update; all of them carry the update's global denominators.

        `old_logprobs` are those of `logprobs`, taken before the step's first update. None: this is the first, and its own pass gives them.
        Raises FloatingPointError where loss or gradient is not finite, ValueError where the batches are not the whole update.
        """
        batches = [self._on_device(batch) for batch in batches]
        tokens, sequences = (batches[0].update_tokens, batches[0].update_sequences) if batches else (0, 0)
        rate = learning_rate(self.trainer, self.updates)
        if not self._has_gradient(batches, loss, tokens):
            return UpdateStats(tokens, sequences, rate, skipped=True)
        with sharded_linear(self.trainer):
            pooled = self._accumulate(batches, old_logprobs, loss)
        if not math.isfinite(pooled["loss"]):
            raise FloatingPointError(f"update {self.updates}: the loss is {pooled['loss']}; the weights are still those before it")
        norm = self._step(rate)
        known = ("loss", "entropy", "mismatch", "mismatch_max")
        return UpdateStats(
            tokens=tokens,
            sequences=sequences,
            learning_rate=rate,
            loss=pooled["loss"],
            grad_norm=norm,
            entropy=pooled["entropy"] / tokens,
            mismatch_abs_mean=pooled["mismatch"] / tokens,
            mismatch_abs_max=pooled["mismatch_max"],
            diagnostics={name: value / tokens for name, value in pooled.items() if name not in known},
        )

    def named_weights(self) -> Iterator[tuple[str, torch.Tensor]]:
        """Every weight whole, under Hugging Face's name (a tied head once), one decoder layer at a time.

        A tensor is only lent: copy it before asking for the next.
        """
        named = [(name.removeprefix("model."), p) for name, p in self.engine.module.named_parameters()]
        for _, group in itertools.groupby(named, key=lambda item: _layer(item[0])):
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
                logprobs = self._forward(self._on_device(batch), 1.0)[0].cpu()
            for index, value in zip(batch.sequence_RL[batch.mask_RL].tolist(), logprobs[batch.mask_RL].tolist(), strict=True):
                found[index].append(value)
        return found

    def save_hf(self, folder: str | Path) -> None:
        """A Hugging Face folder: weights, and config and tokenizer of the model it started from."""
        export.save_hf(Path(folder), self.source, self.named_weights())

    def save_state(self, folder: str | Path) -> None:
        """Weights, optimizer moments and the count of updates, for a resume at the same world size and ZeRO stage."""
        self.engine.save_checkpoint(str(folder), tag=STATE, client_state={"updates": self.updates})

    def load_state(self, folder: str | Path) -> None:
        if not (Path(folder) / STATE).is_dir():
            raise FileNotFoundError(f"{folder} holds no actor state: there is no folder `{STATE}` in it, as `save_state` writes")
        path, client = self.engine.load_checkpoint(str(folder), tag=STATE)
        if path is None:
            raise ValueError(f"{folder}/{STATE} could not be loaded: DeepSpeed's log names the file that is missing or unreadable")
        self.updates = client["updates"]

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
        return tokens > 0 and (pooled["signal"] > 0 or self.trainer.entropy_coefficient > 0)

    def _accumulate(self, batches: list[Batch], old_logprobs: Many[torch.Tensor] | None, loss: Loss) -> dict[str, float]:
        """Adds up the gradient of all micro-batches. DeepSpeed averages over ranks, hence the factor; the loss is a sum over all."""
        sums = Sums(self.engine.device)
        bonus = self.trainer.entropy_coefficient
        for k, batch in enumerate(batches):
            self.engine.set_gradient_accumulation_boundary(k == len(batches) - 1)
            logprobs, entropy = self._forward(batch, self.temperature, entropy_gradient=bonus > 0)
            old = logprobs.detach() if old_logprobs is None else old_logprobs[k]
            per_token, diagnostics = loss.per_token(logprobs, old, batch)
            weights = self.trainer.aggregation.weights(batch)
            total = (weights * masked(per_token, batch)).sum()
            if bonus > 0:
                total = total - bonus * (weights * entropy).sum()
            self.engine.backward(total * dist.get_world_size())
            mismatch = masked(old - batch.sampler_logprobs_RL, batch).abs()
            sums.add("loss", total)
            sums.add("entropy", entropy)
            sums.add("mismatch", mismatch)
            sums.maximum("mismatch_max", mismatch)
            for name, values in diagnostics.items():
                sums.add(name, masked(values, batch))
        return sums.pooled()

    def _step(self, rate: float) -> float:
        """Takes the optimizer step; the gradient's norm before clipping."""
        for group in self.engine.optimizer.param_groups:
            group["lr"] = rate
        whole = self.trainer.zero_stage == 0  # where DeepSpeed keeps the norm to itself
        norm = float(torch.nn.utils.get_total_norm([p.grad for p in self.engine.module.parameters()])) if whole else math.nan
        self.engine.step()
        norm = norm if whole else float(self.engine.get_global_grad_norm())
        if not math.isfinite(norm):
            raise FloatingPointError(
                f"update {self.updates}: the gradient's norm is {norm}, and the weights are spoilt: resume from the last checkpoint, "
                "with a lower trainer.learning_rate if it comes back"
            )
        self.updates += 1
        return norm

    def _on_device(self, batch: Batch) -> Batch:
        tensors = {f.name: getattr(batch, f.name) for f in dataclasses.fields(batch) if isinstance(getattr(batch, f.name), torch.Tensor)}
        return dataclasses.replace(batch, **{name: t.to(self.engine.device) for name, t in tensors.items()})


def _layer(name: str) -> str:
    """The decoder layer a weight belongs to (`model.layers.3`), or the weight itself."""
    found = re.match(r".*?\.\d+(?=\.)", name)
    return found[0] if found else name
