"""One evaluation of one model on one suite, by itself: its engine, its folder, and what the folder holds at the end."""

from __future__ import annotations

import dataclasses
import json
import logging
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ada.data.prompts import read_prompts
from ada.evaluation.evaluator import draw_rows
from ada.evaluation.model import Model, with_positions
from ada.evaluation.progress import EvaluationProgress
from ada.evaluation.row import Row
from ada.evaluation.rows_file import RowsFile, read_rows
from ada.evaluation.suite import Suite, labels_of
from ada.observability.json_lines import write_atomically
from ada.observability.logs import start_logging, stop_logging
from ada.ranks import Ranks
from ada.recipe.errors import RecipeError
from ada.rewards.service import RewardService
from ada.sampling.of_folder import collector_of_folder
from ada.scratch import Scratch
from ada.types import Prompt

log = logging.getLogger(__name__)

SETTINGS = "settings.json"
_MAY_DIFFER = ("engine", "texts")  # how fast it goes and what is kept; with another engine, though, other answers would be drawn


@dataclass(frozen=True, slots=True)
class Evaluated:
    rows: list[Row]  # of all problems, in the order of the sets and their rows
    labels: Mapping[str, Mapping[str, str]]  # by prompt id
    first: bool  # the rank that tells of it


def settings_of(model: Model, name: str, suite: Suite) -> dict[str, Any]:
    settings = {key: value for key, value in dataclasses.asdict(suite).items() if key not in _MAY_DIFFER}
    return {"model": str(model.folder), "weights": model.mark(), "suite": name, "engine": suite.engine.name, "settings": settings}


def require_same(folder: Path, settings: Mapping[str, Any]) -> None:
    """Raises RecipeError where `folder` holds another evaluation: its rows and these would be two experiments in one table."""
    if not (folder / SETTINGS).exists():
        return
    there, now = json.loads((folder / SETTINGS).read_text()), json.loads(json.dumps(settings))
    for key in ("weights", "engine", *now["settings"]):
        before, asked = (s["settings"].get(key) if key in now["settings"] else s.get(key) for s in (there, now))
        if before != asked:
            raise RecipeError(
                f"{folder} holds an evaluation with {key} = {before!r}, and this one has {asked!r}. "
                "Give this one a folder of its own with --output, or remove that one."
            )


def evaluate_model(model: Model, name: str, suite: Suite, folder: Path, should_stop: Callable[[], bool]) -> Evaluated:
    """Draws what `folder` does not hold yet. Collective. Raises Stopped where it was asked to stop; what was done by then stays."""
    from transformers import AutoTokenizer
    from transformers.utils.logging import disable_progress_bar

    from ada.trainer.distributed import start_distributed

    disable_progress_bar()  # of loading weights: there is one of problems
    settings = settings_of(model, name, suite)
    require_same(folder, settings)
    with ExitStack() as closing:
        scratch = Path(closing.enter_context(Scratch("eval")))
        served = with_positions(model.folder, suite, scratch)
        start_distributed()
        ranks = Ranks()
        tokenizer = AutoTokenizer.from_pretrained(str(model.folder))
        prompts = _prompts(suite, tokenizer)
        labels = labels_of(suite)
        folder.mkdir(parents=True, exist_ok=True)
        if ranks.first:
            write_atomically(folder / SETTINGS, json.dumps(settings, indent=2, ensure_ascii=False) + "\n")
        start_logging(folder / "log.txt", ranks.rank)
        closing.callback(stop_logging)
        done: dict[str, Row] = ranks.gather(read_rows(folder) if ranks.first else {})[0]
        to_do = [prompt for prompt in prompts if prompt.id not in done]
        if to_do:
            for row in _draw(to_do, len(prompts), suite, served, folder, ranks, tokenizer, closing, should_stop):
                done[row.id] = row
    return Evaluated([done[prompt.id] for prompt in prompts], labels, ranks.first)


def _prompts(suite: Suite, tokenizer: Any) -> list[Prompt]:
    prompts: list[Prompt] = []
    for name, source in suite.sets.items():
        loaded = read_prompts(source, name, suite.prompt, tokenizer, suite.max_prompt_tokens)
        if loaded.overlong:
            log.warning(
                "%s: %d of %d problems have prompts of more than %d tokens", name, loaded.overlong, loaded.read, suite.max_prompt_tokens
            )
        prompts += loaded.prompts
    return prompts


def _draw(
    prompts: list[Prompt],
    total: int,
    suite: Suite,
    served: Path,
    folder: Path,
    ranks: Ranks,
    tokenizer: Any,
    closing: ExitStack,
    should_stop: Callable[[], bool],
) -> list[Row]:
    rewards = RewardService(suite.reward, log_path=folder / "rewards.log")
    closing.callback(rewards.close)
    collector = collector_of_folder(
        suite.engine, str(served), suite.law, suite.dtype, suite.seed, tokenizer, rewards, ranks, should_stop, closing
    )
    file = RowsFile(folder, ranks.rank)
    closing.callback(file.close)
    progress = EvaluationProgress(total, total - len(prompts), suite.samples, ranks)
    closing.callback(progress.close)

    def keep(row: Row) -> None:
        file.append(row)
        progress.row(row)

    rows = draw_rows(collector, prompts, suite.samples, suite.law, "evaluation", texts=suite.texts, keep=keep)
    progress.finish()
    return rows
