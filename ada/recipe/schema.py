"""The recipe: every key a run reads, section by section. Each section's class lives beside the code it steers."""

from __future__ import annotations

from typing import Annotated, Literal, cast

import torch
from pydantic import Field

from ada.checkpoint.config import Checkpoints
from ada.config import config, one_of
from ada.contracts import Advantage, EngineMethod, Grouping, Loss, Objective, PassRateMethod, Schedule, Selection
from ada.data.prompts import PromptFormat
from ada.data.sources import Source
from ada.engine.generation import Generation
from ada.evaluation.config import Evaluation
from ada.observability.tracking import Tracking
from ada.rewards.config import Reward
from ada.sampling.replay import Replay
from ada.sampling.schedules.seq import Seq
from ada.sampling.streaming import Streaming
from ada.sampling.windows import BeliefWindow, Window, fixed, stopping
from ada.trainer.config import TrainerConfig
from ada.watch.config import Watch


@config
class BatchSizes:
    prompts_per_step: Annotated[int, Field(gt=0, description="B: prompts that one step samples and trains on")]
    responses_per_group: Annotated[
        int | None, Field(gt=0, description="n: responses of a prompt that are trained on; null: all that were drawn (group: all)")
    ]
    updates_per_step: Annotated[int, Field(gt=0, description="optimizer updates a step is split into, by prompts")] = 1


@config
class Model:
    path: Annotated[str, Field(description="Hugging Face folder or hub id; `microworld` is the base model that ships with ada")]
    dtype: Annotated[
        Literal["float32", "bfloat16"],
        Field(description="of the weights in the engine and in the actor's passes; master weights are always float32"),
    ] = "bfloat16"
    family: Annotated[str, Field(description="Hugging Face model_type the folder must have; `ada check` builds a tiny one of it")]

    @property
    def torch_dtype(self) -> torch.dtype:
        return torch.float32 if self.dtype == "float32" else torch.bfloat16


@config
class Data:
    train: Annotated[Source, one_of("ada.data.sources"), Field(description="the problems that are trained on")]
    prompt: Annotated[PromptFormat, Field(description="how a problem becomes a prompt")] = PromptFormat()
    selection: Annotated[Selection, one_of("ada.data.selection"), Field(description="which prompts come next")]


@config
class Sampling:
    schedule: Annotated[
        Schedule, one_of("ada.sampling.schedules"), Field(description="how many draws each prompt gets, and when it is done")
    ]
    group: Annotated[Grouping, one_of("ada.sampling.groups"), Field(description="which of the drawn responses are trained on")]
    passrate: Annotated[
        PassRateMethod | None, one_of("ada.sampling.passrate"), Field(description="belief about pass rates before sampling")
    ] = None
    in_flight: Annotated[
        Literal["belief"] | Annotated[int, Field(gt=0)] | None,
        Field(
            description="W: at most so many draws of a prompt may be begun beyond the last look at its stop rule; null: "
            "schedule.check_every; belief: as many as it takes, by the belief about its pass rate, to resolve it with probability "
            "resolve_probability"
        ),
    ] = None
    resolve_probability: Annotated[float, Field(gt=0, lt=1, description="of in_flight: belief; more of it speculates more")] = 0.8
    replay: Annotated[Replay | None, Field(description="train on groups of recent steps again; null: on the step's own alone")] = None
    streaming: Annotated[
        Streaming | None, Field(description="prompts stay open across steps; null: a step draws all that it trains on")
    ] = None

    @property
    def window(self) -> Window | None:
        if self.in_flight == "belief":
            return BeliefWindow(cast(Seq, stopping(self.schedule)), self.resolve_probability)
        return None if self.in_flight is None else fixed(self.in_flight)


@config
class Sync:
    """Weights from actor to engine, after every step."""

    tolerance: Annotated[
        float | None,
        Field(gt=0, description="nats by which log-probs of actor and engine may differ after it; null: 1e-4 in float32, 1.0 in bfloat16"),
    ] = None
    held_prompts: Annotated[int, Field(ge=1, description="prompts whose tokens' log-probs are compared after every sync")] = 4


@config
class Recipe:
    seed: Annotated[int, Field(ge=0, description="the one seed of data order, draws and groups")] = 0
    steps: Annotated[int, Field(gt=0, description="steps of sampling and training")]
    batch: BatchSizes
    model: Model
    data: Data
    reward: Reward
    generation: Generation
    engine: Annotated[
        EngineMethod,
        one_of("ada.engine.engines"),
        Field(description="what draws the responses: vllm, or transformers where vLLM is missing"),
    ]
    sampling: Sampling
    advantage: Annotated[Advantage, one_of("ada.trainer.advantages"), Field(description="credit of each response of a group")]
    objective: Annotated[
        Objective, one_of("ada.trainer.objectives"), Field(description="f in J = E f(p): weight of each prompt's gradient")
    ]
    loss: Annotated[Loss, one_of("ada.trainer.losses"), Field(description="loss per token")]
    trainer: TrainerConfig
    evaluation: Evaluation
    sync: Annotated[Sync, Field(description="how weights reach the engine")] = Sync()
    checkpoints: Checkpoints = Checkpoints()
    watch: Annotated[Watch, Field(description="when a job that goes nowhere is ended, and memory that grows is told")] = Watch()
    tracking: Tracking
    output: Annotated[str, Field(description="folder in which runs are written")] = "runs"
    run_name: Annotated[str | None, Field(description="name of the run's folder; null: the recipe's name, numbered where it is taken")] = (
        None
    )
    resume: Annotated[
        Literal["auto", "must", "changed"],
        Field(
            description="where `run_name` has a run already. auto: goes on from its newest checkpoint, or begins anew where it has none; "
            "must: only goes on; changed: goes on with this recipe though it is not the run's. Never with another seed, model, data, "
            "sampling.passrate or sampling.streaming"
        ),
    ] = "auto"
