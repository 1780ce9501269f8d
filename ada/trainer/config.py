"""The recipe's section `trainer`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from ada.config import config, one_of
from ada.contracts import KL, Aggregation, Correction
from ada.trainer.aggregation.token_mean import TokenMean
from ada.trainer.overlong import SoftPenalty


@config
class TrainerConfig:
    learning_rate: Annotated[float, Field(ge=0, description="AdamW step size after the warm-up")]
    warmup_updates: Annotated[
        int, Field(ge=0, description="updates over which the step size rises linearly; it is constant afterwards")
    ] = 0
    beta1: Annotated[float, Field(ge=0, lt=1, description="AdamW decay of the mean gradient")] = 0.9
    beta2: Annotated[float, Field(ge=0, lt=1, description="AdamW decay of the squared gradient")] = 0.999
    epsilon: Annotated[float, Field(gt=0, description="AdamW epsilon")] = 1e-8
    weight_decay: Annotated[float, Field(ge=0, description="AdamW decoupled weight decay")] = 0.0
    max_grad_norm: Annotated[float, Field(gt=0, description="gradients of larger norm are scaled down to it")] = 1.0
    not_finite_in_a_row: Annotated[
        int, Field(ge=1, description="updates whose loss or gradient is not finite are skipped; so many in a row end the run")
    ] = 3
    entropy_coefficient: Annotated[float, Field(ge=0, description="weight of the entropy bonus, in nats per token; 0: none")] = 0.0
    kl: Annotated[
        KL | None, one_of("ada.trainer.kl"), Field(description="pull towards the model that training started from; null: none")
    ] = None
    correction: Annotated[
        Correction | None,
        one_of("ada.trainer.corrections"),
        Field(description="weight of each token's loss by how far sampler and trainer disagree on it; null: 1"),
    ] = None
    old_logprobs: Annotated[
        Literal["recomputed", "from_sampler"],
        Field(description="pi_old of the ratio: the actor's own pass before the step's first update, or the sampler's, without that pass"),
    ] = "recomputed"
    aggregation: Annotated[
        Aggregation, one_of("ada.trainer.aggregation"), Field(description="how losses of tokens become the loss of an update")
    ] = TokenMean()
    zero_variance: Annotated[
        Literal["keep", "drop", "reject"],
        Field(
            description="keep: groups without any credit count among the update's tokens; drop: they are left out; "
            "reject: whatever is all right or all wrong is, credit or not"
        ),
    ] = "keep"
    truncated: Annotated[
        Literal["keep", "drop"],
        Field(description="responses cut off by their token budget: trained on, or left out of the update; pool means include them"),
    ] = "keep"
    overlong: Annotated[SoftPenalty | None, Field(description="soft penalty on the reward of long responses; null: none")] = None
    zero_stage: Annotated[
        Literal[0, 1, 2, 3],
        Field(description="what is sharded over the ranks: 1 optimizer state, 2 and gradients, 3 and weights; 0: nothing"),
    ] = 3
    micro_batch_tokens: Annotated[
        int, Field(gt=0, description="slots of a forward pass on one rank; a longer single row is taken whole. Logits need not be counted")
    ] = 16384
    row_tokens: Annotated[
        int,
        Field(
            gt=0, description="slots of a row that sequences are packed into; a longer sequence lengthens it. Attention costs its square"
        ),
    ] = 4096
    gradient_checkpointing: Annotated[bool, Field(description="recompute each layer in the backward pass, to save memory")] = False


def learning_rate(trainer: TrainerConfig, update: int) -> float:
    """Step size of update `update`, counted from 0: rises linearly to the warm-up's last update, then stays."""
    return trainer.learning_rate * min(1.0, (update + 1) / max(trainer.warmup_updates, 1))
