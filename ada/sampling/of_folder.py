"""Draws of the model in a folder, as it is there: for evaluation and data preparation, which train nothing."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import TYPE_CHECKING

from ada.contracts import EngineMethod
from ada.data.prompts import decoder
from ada.engine.generation import Generation
from ada.engine.lockstep import require_whole_engines
from ada.ranks import Ranks
from ada.rewards.service import RewardService
from ada.sampling.collector import Collector

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


def collector_of_folder(
    method: EngineMethod,
    folder: str,
    law: Generation,
    dtype: str,
    seed: int,
    tokenizer: PreTrainedTokenizerBase,
    rewards: RewardService,
    ranks: Ranks,
    should_stop: Callable[[], bool],
    closing: ExitStack,
) -> Collector:
    """On an engine of its own, which `closing` ends. Raises RecipeError where the ranks are not a whole number of engines."""
    require_whole_engines(method, ranks.world)
    engine = method.start(folder, law, dtype, seed)
    closing.callback(engine.close)
    engine.trust_folder_weights(0)
    return Collector(engine, rewards, decoder(tokenizer), ranks, seed=seed, max_concurrent=method.max_concurrent, should_stop=should_stop)
