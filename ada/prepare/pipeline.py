"""From a data set to one worth training on, as in Reinforce-Ada (arXiv 2510.04996): each problem once, gold answers that verify, and
a pass rate of the base model that leaves something to learn.

What was found out is kept in the output folder's journal, so that the same command goes on where it was stopped, and another `--keep`
draws nothing anew.
"""

from __future__ import annotations

import dataclasses
import logging
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from ada.checkpoint.prompts import digest_of
from ada.data.prompts import Loaded, read_prompts
from ada.data.sources import DataError
from ada.evaluation.model import Model
from ada.model_folder import model_folder
from ada.observability.logs import start_logging, stop_logging
from ada.prepare.draws import draw
from ada.prepare.golds import usable, verify
from ada.prepare.journal import Drawn, Journal
from ada.prepare.keep import Keep
from ada.prepare.report import Findings, write_report
from ada.prepare.table import write_table
from ada.ranks import Ranks
from ada.recipe.schema import Recipe
from ada.rewards.service import RewardService
from ada.sampling.of_folder import collector_of_folder
from ada.shutdown import StopRequest
from ada.types import Prompt

log = logging.getLogger(__name__)


def prepare(recipe: Recipe, name: str, output: Path, keep: Keep, draws: int, stop: StopRequest, beside: Path) -> Findings:
    """Writes problems.parquet, report.md and pass_rates.png into `output`. Reads the recipe's data, model, reward, generation and engine.

    Raises Stopped where it was asked to stop, DataError for data that cannot be used. Collective.
    """
    from transformers import AutoTokenizer

    from ada.trainer.distributed import start_distributed

    with ExitStack() as closing:
        start_distributed()
        ranks = Ranks()
        folder = str(model_folder(recipe.model.path, recipe.model.family))
        tokenizer = AutoTokenizer.from_pretrained(folder)
        loaded = read_prompts(
            recipe.data.train, recipe.data.train.name, recipe.data.prompt, tokenizer, recipe.generation.max_prompt_tokens, distinct=True
        )
        output.mkdir(parents=True, exist_ok=True)
        start_logging(None, ranks.rank)
        closing.callback(stop_logging)
        journal = Journal(output / "journal.jsonl", settings(recipe, folder, loaded, draws)) if ranks.first else None
        if journal:
            closing.callback(journal.close)
        golds, drawn = ranks.gather((journal.golds, journal.drawn) if journal else None)[0] or ({}, {})

        rewards = RewardService(recipe.reward, import_from=[beside], log_path=output / "rewards.log")
        closing.callback(rewards.close)
        golds = verify(loaded.prompts, rewards, journal, golds, ranks, stop)
        prompts = [prompt for prompt in loaded.prompts if usable(golds[prompt.id])]
        if not prompts:
            raise DataError(_no_gold(recipe, loaded.prompts[0], golds[loaded.prompts[0].id]))
        if any(prompt.id not in drawn for prompt in prompts):
            collector = collector_of_folder(
                recipe.engine, folder, recipe.generation, recipe.model.dtype, recipe.seed, tokenizer, rewards, ranks, stop, closing
            )
            drawn = draw(prompts, collector, draws, journal, drawn)
        kept = [prompt for prompt in prompts if keep(drawn[prompt.id].right, drawn[prompt.id].judged)]
        found = _findings(recipe, name, loaded, golds, {prompt.id: drawn[prompt.id] for prompt in prompts}, kept, keep, draws)
        if ranks.first:
            write_table(output / "problems.parquet", kept, loaded.problems, drawn)
            write_report(output, found)
        return found


def settings(recipe: Recipe, folder: str, loaded: Loaded, draws: int) -> dict[str, Any]:
    """All that decides which verdicts and draws come out, the problems themselves as a hash."""
    reward = {key: value for key, value in dataclasses.asdict(recipe.reward).items() if key not in ("workers", "queue")}
    return {
        "model.path": recipe.model.path,
        "model's files": Model(Path(folder), recipe.model.path).mark(),
        "model.dtype": recipe.model.dtype,
        "engine": recipe.engine.name,
        "generation": dataclasses.asdict(recipe.generation),
        "reward": reward,
        "problems": digest_of(loaded.prompts),
        "draws": draws,
        "seed": recipe.seed,
    }


def _findings(
    recipe: Recipe, name: str, loaded: Loaded, golds: dict[str, str], drawn: dict[str, Drawn], kept: list[Prompt], keep: Keep, draws: int
) -> Findings:
    return Findings(
        recipe=name,
        model=recipe.model.path,
        draws=draws,
        rule=keep.text,
        read=loaded.read,
        repeated=loaded.duplicates.count,
        overlong=loaded.overlong,
        failed_golds=[(p.id.partition("/")[2], p.answer, golds[p.id]) for p in loaded.prompts if not usable(golds[p.id])],
        drawn=drawn,
        kept=[drawn[prompt.id] for prompt in kept],
    )


def _no_gold(recipe: Recipe, prompt: Prompt, verdict: str) -> str:
    return (
        f"{recipe.data.train.name}: the reward function calls no gold answer right. The first, row {prompt.id.partition('/')[2]}: "
        f"{prompt.answer!r:.80} is {verdict}. Is `answer` the right column, and reward.function the right function?"
    )
