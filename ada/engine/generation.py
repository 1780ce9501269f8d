"""The law responses are drawn from, and the room they have."""

from __future__ import annotations

from typing import Annotated

import torch
from pydantic import Field

from ada.config import config


@config
class Generation:
    temperature: Annotated[float, Field(gt=0, description="logits are divided by it; 1 draws from the model itself")] = 1.0
    top_p: Annotated[float, Field(gt=0, le=1, description="keep the likeliest tokens up to this mass; 1 keeps all")] = 1.0
    top_k: Annotated[int, Field(ge=0, description="keep this many likeliest tokens; 0 keeps all")] = 0
    max_prompt_tokens: Annotated[
        int, Field(gt=0, description="tokens; a longer prompt is refused or dropped (data.prompt.overlong), never cut")
    ] = 512
    max_response_tokens: Annotated[
        int, Field(gt=0, description="most tokens of a response, the end token included, however long its prompt is")
    ] = 1024

    @property
    def most_tokens(self) -> int:
        """Of a prompt and its response together."""
        return self.max_prompt_tokens + self.max_response_tokens


def processed_logprobs(logits_SV: torch.Tensor, law: Generation) -> torch.Tensor:
    """[S, V] logits -> [S, V] float32 log-probs a draw is made from; -inf where top_k or top_p rule a token out.

    In vLLM's order, so that both engines draw from one law: temperature; top_k (ties with the k-th kept);
    top_p (Holtzman et al. 2020, arXiv:1904.09751, sec. 3.1) on what top_k left; renormalise.
    """
    logits_SV = logits_SV.float() / law.temperature
    if 0 < law.top_k < logits_SV.shape[-1]:
        kth_S1 = logits_SV.topk(law.top_k, dim=-1).values[:, -1:]
        logits_SV = logits_SV.masked_fill(logits_SV < kth_S1, -torch.inf)
    if law.top_p < 1:
        ascending_SV, order_SV = logits_SV.sort(dim=-1)
        outside_SV = ascending_SV.softmax(dim=-1).cumsum(dim=-1) <= 1 - law.top_p
        outside_SV[:, -1] = False  # the likeliest token always stays
        logits_SV = logits_SV.masked_fill(torch.zeros_like(outside_SV).scatter(-1, order_SV, outside_SV), -torch.inf)
    return logits_SV.log_softmax(dim=-1)


def invert_cdf(logprobs_SV: torch.Tensor, uniforms_S: torch.Tensor) -> torch.Tensor:
    """[S, V] log-probs and [S] float64 numbers in [0, 1) -> [S] token ids: the first token whose cumulative probability exceeds the number.

    In float64, each row by itself: a row's token depends on nothing but its own log-probs and its own number.
    """
    cdf_SV = logprobs_SV.double().exp().cumsum(dim=-1)
    total_S = cdf_SV[:, -1]
    targets_S = torch.minimum(
        uniforms_S * total_S, torch.nextafter(total_S, torch.zeros_like(total_S))
    )  # rounding must not reach the total
    return torch.searchsorted(cdf_SV, targets_S.unsqueeze(-1), right=True).squeeze(-1)
