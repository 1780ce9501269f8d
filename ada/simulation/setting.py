"""The inputs of the model, and a preset at the proportions of the paper's experiments."""

from __future__ import annotations

from dataclasses import dataclass

from ada.sampling.profile import Profile, beta
from ada.simulation.costs import DecodeCost, StartCost, UpdateCost
from ada.simulation.draws import Lengths


@dataclass(frozen=True)
class Setting:
    prompts: int  # of a step, for each GPU
    slots: int  # draws that an engine decodes together
    decode: DecodeCost
    start: StartCost
    lengths: Lengths
    profile: Profile
    belief_draws: int  # earlier responses behind what is believed of each prompt
    verdict_seconds: float  # from a response to its verdict
    update: UpdateCost


# Qwen2.5-Math-1.5B on 8 H100 as in Reinforce-Ada (arXiv 2510.04996): 512 prompts a step, responses up to 2,048 tokens. The paper gives
# 102 s for a step of GRPO-n4, 15 s of them the update, and 290 s for Seq-balance in rounds with a barrier. Assumed, not measured:
# - a decoding step takes twice its least time at some 230 draws, which 28 KiB of keys and values a token, a vocabulary of 152k and a
#   sampler that gives each draw its own generator make of an H100; lengths are lognormal, 5 % are cut off; pass rates are uniform;
# - of the other 87 s of GRPO's step a part is the same for every sampler (old log-probs, rewards, weights). It, and how long a decoding
#   step takes, follow from the two measured step times. Seq-pos (228 s) and Est (128 s), which the paper measured too, are left to check.
# Measured by others: a token read again, 6.0 to 8.5 us: 2,048 tokens of 8 requests, 1,024 of 4, behind some 2,000 or 4,000 each, in
# vLLM 0.29 on an H100 with Qwen2.5-1.5B (github.com/yinli-systems/single-gpu-inference-lab, h100-prefill-cost-geometry).
PAPER = Setting(
    prompts=64,
    slots=1024,
    decode=DecodeCost.line(0.021, 0.00009),
    start=StartCost(per_token=8e-6),
    lengths=Lengths("lognormal(650,0.7)", 2048),
    profile=beta(1.0, 1.0),
    belief_draws=8,
    verdict_seconds=0.0,
    update=UpdateCost(26.0, 7e-5),
)
