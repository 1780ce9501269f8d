"""The same contract on a plain Hugging Face model, for machines without vLLM: slower, and reproducible to the bit on a CPU.

A draw's tokens and log-probs do not depend on what else is running. In float32 on one thread that holds bit for bit, because nothing a
draw passes through depends on the batch: a prompt is read by itself, in one forward pass of its own; decoding always runs blocks of ROWS
rows, however few are in use, over caches of one length (a matrix product's rounding may change with the number of its rows, not with
the place of a row among them); and each token is decided by a number the draw's own generator gave, at its place: a draw that was
interrupted goes on with the numbers it would have had.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

import torch
from pydantic import Field
from transformers import AutoModelForCausalLM, Cache

from ada.config import config
from ada.engine.base import Ended, GuardedEngine, Key, Tokens
from ada.engine.folder import ModelFolder, read_folder, require_room
from ada.engine.generation import Generation, invert_cdf, processed_logprobs
from ada.engine.isolation import own_random_state
from ada.types import Draw

if TYPE_CHECKING:
    from ada.memory.model import ModelSize

ROWS = 64


@config
class Transformers:
    name: Literal["transformers"] = "transformers"
    max_concurrent: Annotated[int, Field(gt=0, description="draws decoded together; more wait their turn")] = 128

    @property
    def ranks(self) -> int:
        return 1

    def memory(self, size: ModelSize, longest: int, device_bytes: int, gpu: bool) -> dict[str, int]:
        """Its own copy of the weights; keys, values and next logits of every slot at full length."""
        slots = -(-self.max_concurrent // ROWS) * ROWS
        cache = slots * (longest * size.kv_numbers * size.parameter_bytes + 4 * size.vocabulary)
        return {"engine": size.parameters * size.parameter_bytes, "KV cache": cache}

    def start(
        self, model_folder: str, generation: Generation, dtype: str, seed: int, evaluation: Generation | None = None
    ) -> TransformersEngine:
        """`seed` is not used: every draw has its own."""
        folder = read_folder(model_folder)
        return TransformersEngine(folder, generation, require_room(folder, generation, evaluation), self.max_concurrent, dtype)


class SlotCache(Cache):
    """Keys and values of S running draws, each at its own position: [layer, key or value, S, head, position, head dim]."""

    def __init__(self, kv: torch.Tensor) -> None:
        super().__init__(layers=[])
        self.kv = kv
        self.rows = slice(0)
        self.positions_R = torch.empty(0)

    def at(self, rows: slice, positions_R: torch.Tensor) -> SlotCache:
        self.rows, self.positions_R = rows, positions_R
        return self

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, layer_idx: int, *_: Any, **__: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        keys, values = self.kv[layer_idx, 0, self.rows], self.kv[layer_idx, 1, self.rows]
        every_R = torch.arange(len(keys), device=keys.device)
        keys[every_R, :, self.positions_R] = key_states[:, :, 0]
        values[every_R, :, self.positions_R] = value_states[:, :, 0]
        return keys, values


class TransformersEngine(GuardedEngine):
    """Running draws fill slots 0..n-1 of preallocated tensors; when one ends, the last takes its slot."""

    def __init__(self, folder: ModelFolder, generation: Generation, room: int, max_concurrent: int, dtype: str) -> None:
        super().__init__(folder, generation, room)
        on = torch.device("cuda", int(os.environ.get("LOCAL_RANK", 0))) if torch.cuda.is_available() else torch.device("cpu")
        with own_random_state():
            model = AutoModelForCausalLM.from_pretrained(folder.path, dtype=getattr(torch, dtype), attn_implementation="sdpa")
        self._model = model.to(on).eval()  # type: ignore[arg-type]
        self._max_concurrent = max_concurrent
        self._waiting: deque[Draw] = deque()
        self._prompts: dict[tuple[int, ...], tuple[torch.Tensor, torch.Tensor]] = {}  # the prompt cache: keys and values, next logits
        self._allocate(-(-max_concurrent // ROWS) * ROWS, on)

    def _allocate(self, slots: int, on: torch.device) -> None:
        config, length = self._model.config.get_text_config(), self.room
        heads = config.num_key_value_heads
        head_dim = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
        self._kv = torch.zeros(config.num_hidden_layers, 2, slots, heads, length, head_dim, dtype=self._model.dtype, device=on)
        self._cache = SlotCache(self._kv)
        self._logits_SV = torch.zeros(slots, self.folder.vocabulary, device=on)  # of the next token
        self._uniforms_ST = torch.zeros(slots, length, dtype=torch.float64, device=on)  # one for each token to come
        self._tokens_ST = torch.zeros(slots, length, dtype=torch.int64, device=on)
        self._logprobs_ST = torch.zeros(slots, length, device=on)
        self._written_S = torch.zeros(slots, dtype=torch.int64, device=on)  # response tokens so far
        self._prompt_S = torch.zeros(slots, dtype=torch.int64, device=on)  # prompt tokens
        self._of_slots = (self._uniforms_ST, self._tokens_ST, self._logprobs_ST, self._written_S, self._prompt_S, self._logits_SV)
        self._slots: list[Draw] = []
        self._ends = torch.tensor(self.folder.end_ids, device=on)

    def _start(self, draw: Draw) -> None:
        self._waiting.append(draw)

    @torch.no_grad()
    def _decode(self) -> list[Ended]:
        while self._waiting and len(self._slots) < self._max_concurrent:
            self._admit(self._waiting.popleft())
        blocks = self._blocks()
        ended = [slot for rows in blocks for slot in self._sample(rows)]
        finished = [self._finish(slot) for slot in ended]
        for slot in sorted(ended, reverse=True):
            self._free(slot)
        for rows in self._blocks():
            self._forward(rows)
        return finished

    def _blocks(self) -> list[slice]:
        return [slice(first, first + ROWS) for first in range(0, len(self._slots), ROWS)]

    def _admit(self, draw: Draw) -> None:
        slot, prompt, begun = len(self._slots), draw.prompt.token_ids, draw.begun
        kv, logits_V = self._read(prompt + begun.token_ids) if begun.token_ids else self._read_prompt(prompt)
        self._kv[:, :, slot, :, : len(prompt) + len(begun)] = kv
        self._logits_SV[slot] = logits_V
        own = torch.Generator().manual_seed(draw.seed)
        most = self.generation.max_response_tokens
        self._uniforms_ST[slot, :most] = torch.rand(most, generator=own, dtype=torch.float64)
        self._written_S[slot], self._prompt_S[slot] = len(begun), len(prompt)
        self._slots.append(draw)

    def _read_prompt(self, prompt: tuple[int, ...]) -> tuple[torch.Tensor, torch.Tensor]:
        if prompt not in self._prompts:
            if len(self._prompts) >= self._max_concurrent:
                del self._prompts[next(iter(self._prompts))]
            self._prompts[prompt] = self._read(prompt)
        return self._prompts[prompt]

    def _read(self, ids: tuple[int, ...]) -> tuple[torch.Tensor, torch.Tensor]:
        ids_1L = torch.tensor([ids], device=self._kv.device)
        out = self._model(input_ids=ids_1L, use_cache=True, logits_to_keep=1)
        kv = torch.stack([torch.stack([layer.keys[0], layer.values[0]]) for layer in out.past_key_values.layers])
        return kv, out.logits[0, -1].float()

    def _sample(self, rows: slice) -> list[int]:
        """Writes the next token of each draw in the block; the slots of those that ended with it."""
        logprobs_RV = processed_logprobs(self._logits_SV[rows], self.generation)
        written_R1 = self._written_S[rows].unsqueeze(-1)
        tokens_R = invert_cdf(logprobs_RV, self._uniforms_ST[rows].gather(-1, written_R1).squeeze(-1))
        tokens_R.clamp_(max=self.folder.vocabulary - 1)  # past the end where log-probs are not numbers; such a draw is refused
        self._tokens_ST[rows].scatter_(-1, written_R1, tokens_R.unsqueeze(-1))
        self._logprobs_ST[rows].scatter_(-1, written_R1, logprobs_RV.gather(-1, tokens_R.unsqueeze(-1)))
        in_use = slice(rows.start, min(rows.stop, len(self._slots)))
        self._written_S[in_use] += 1
        ended_R = torch.isin(tokens_R, self._ends) | (self._written_S[rows] >= self.generation.max_response_tokens)
        return [rows.start + row for row in ended_R[: in_use.stop - in_use.start].nonzero().flatten().tolist()]

    def _finish(self, slot: int) -> Ended:
        tokens, logprobs = self._since_submitted(slot)
        return Ended(self._slots[slot], tokens, logprobs, "stop" if tokens[-1] in self.folder.end_ids else "length")

    def _since_submitted(self, slot: int) -> Tokens:
        new = slice(len(self._slots[slot].begun), int(self._written_S[slot]))
        return Tokens(self._tokens_ST[slot, new].tolist(), self._logprobs_ST[slot, new].tolist())

    def _free(self, slot: int) -> None:
        last = len(self._slots) - 1
        if slot != last:
            self._kv[:, :, slot] = self._kv[:, :, last]
            for of_slots in self._of_slots:
                of_slots[slot] = of_slots[last]
            self._slots[slot] = self._slots[last]
        self._slots.pop()
        self._written_S[last] = self._prompt_S[last] = 0

    def _forward(self, rows: slice) -> None:
        last_written_R = (self._written_S[rows] - 1).clamp(min=0)
        positions_R = self._prompt_S[rows] + last_written_R
        ids_R1 = self._tokens_ST[rows].gather(-1, last_written_R.unsqueeze(-1))
        seen_R11T = (torch.arange(self._kv.shape[-2], device=self._kv.device) <= positions_R.unsqueeze(-1))[:, None, None]
        out = self._model(
            input_ids=ids_R1,
            position_ids=positions_R.unsqueeze(-1),
            attention_mask=seen_R11T,
            past_key_values=self._cache.at(rows, positions_R),
            use_cache=True,
        )
        self._logits_SV[rows] = out.logits[:, 0].float()

    def _end(self, keys: Collection[Key]) -> dict[Key, Tokens]:
        had: dict[Key, Tokens] = {}
        ending = set(keys)
        self._waiting = deque(draw for draw in self._waiting if (draw.prompt.id, draw.index) not in ending)
        for slot in reversed(range(len(self._slots))):
            if (key := (self._slots[slot].prompt.id, self._slots[slot].index)) in ending:
                had[key] = self._since_submitted(slot)
                self._free(slot)
        return had

    @torch.no_grad()
    def _replace(self, weights: Iterator[tuple[str, torch.Tensor]]) -> None:
        self._prompts.clear()  # they were read by the old weights
        own = dict(self._model.named_parameters())
        for name, tensor in weights:
            own[name].copy_(tensor)

    def _wipe_cache(self) -> None:
        self._kv.zero_()

    @torch.no_grad()
    def _score(self, sequences: Sequence[tuple[int, ...]]) -> list[list[float]]:
        scores = []
        for sequence in sequences:
            ids_1L = torch.tensor([sequence], device=self._kv.device)
            logprobs_LV = self._model(input_ids=ids_1L, use_cache=False).logits[0, :-1].float().log_softmax(dim=-1)
            scores.append(logprobs_LV.gather(-1, ids_1L[0, 1:, None])[:, 0].tolist())
        return scores

    def close(self) -> None:
        del self._model, self._kv, self._cache, self._prompts, self._of_slots, self._logits_SV
