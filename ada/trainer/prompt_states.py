"""What the policy makes of a prompt before it answers: the representation that a value network reads. No gradient flows through it."""

from __future__ import annotations

from collections.abc import Sequence as Many

import torch

from ada.ranks import Ranks
from ada.trainer.actor import Actor
from ada.trainer.batching import pack
from ada.types import Batch, Prompt, Sequence


class PromptStates:
    def __init__(self, actor: Actor, ranks: Ranks):
        self.actor, self.ranks = actor, ranks

    def of(self, prompts: Many[Prompt]) -> torch.Tensor:
        """[B, 2 H] float32 on the CPU, the same on every rank: the last layer's state at the prompt's last token, and its mean over the
        prompt. Each rank works through its share of the prompts. Collective."""
        trainer = self.actor.trainer
        # A response of one token that nobody reads: its slot is where the prompt has ended.
        asked = [Sequence(prompt.token_ids, (0,), (0.0,), 0.0, index) for index, prompt in enumerate(prompts)]
        batches = pack(asked, self.ranks.rank, self.ranks.world, trainer.micro_batch_tokens, trainer.row_tokens, self.actor.work)
        own = {index: state for part in self._of_batches(batches) for index, state in part.items()}
        every = {index: state for share in self.ranks.gather(own) for index, state in share.items()}
        return torch.stack([every[index] for index in range(len(prompts))])

    def agreed(self, values: list[float]) -> list[float]:
        """Rank 0's: what ranks decide by may not differ in a rounding. Collective."""
        return self.ranks.gather(values)[0]

    def _of_batches(self, batches: Many[Batch]) -> list[dict[int, torch.Tensor]]:
        newest: list[torch.Tensor] = []
        base = self.actor.engine.module.model.base_model
        hook = base.register_forward_hook(lambda _, __, output: newest.__setitem__(slice(None), [output.last_hidden_state]))
        try:
            return self.actor.passes([(batch, None) for batch in batches], 1.0, lambda piece, _: _of_batch(piece[0], newest[0]))
        finally:
            hook.remove()


def _of_batch(batch: Batch, states_RLH: torch.Tensor) -> dict[int, torch.Tensor]:
    found = {}
    for index in batch.sequence_RL[batch.mask_RL].tolist():
        states_TH = states_RLH[(batch.sequence_RL == index) & ~batch.mask_RL].float().cpu()
        found[index] = torch.cat([states_TH[-1], states_TH.mean(0)])
    return found
