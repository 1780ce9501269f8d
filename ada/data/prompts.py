"""From a source's rows to prompts: formatted once, tokenised once, checked before the first step."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from ada.config import config
from ada.data.sources import DataError, Row, Source
from ada.types import Prompt

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

log = logging.getLogger(__name__)


@config
class PromptFormat:
    """How a problem becomes the text that the model continues."""

    style: Annotated[Literal["raw", "chat"], Field(description="raw: prefix + problem + suffix; chat: the tokenizer's chat template")] = (
        "raw"
    )
    system: Annotated[str | None, Field(description="system message of a chat prompt; null: none")] = None
    prefix: Annotated[str, Field(description="text before the problem")] = ""
    suffix: Annotated[str, Field(description="text after the problem")] = ""
    overlong: Annotated[
        Literal["refuse", "drop"],
        Field(description="what happens to a prompt over generation.max_prompt_tokens: an error, or dropped and counted"),
    ] = "refuse"

    def text(self, row: Row, tokenizer: PreTrainedTokenizerBase) -> str:
        body = self.prefix + row.problem + self.suffix
        if self.style == "raw":
            return body
        messages = [{"role": "system", "content": self.system}] if self.system is not None else []
        messages.append({"role": "user", "content": body})
        return str(tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True))


def load_prompts(source: Source, label: str, form: PromptFormat, tokenizer: PreTrainedTokenizerBase, max_tokens: int) -> list[Prompt]:
    """All prompts of a source, ids prefixed by `label` so that two sources never share one.

    A chat template writes the begin token itself, so special tokens are added to raw prompts only.
    Raises DataError for an empty source and, where `form.overlong` is `refuse`, for a prompt of more than max_tokens.
    """
    prompts, overlong = [], 0
    for row in source.rows():
        text = form.text(row, tokenizer)
        ids = tuple(tokenizer(text, add_special_tokens=form.style == "raw").input_ids)
        if not 0 < len(ids) <= max_tokens:
            if form.overlong == "refuse" or not ids:
                raise DataError(
                    f"{label}, row {row.id}: the prompt has {len(ids)} tokens; generation.max_prompt_tokens allows 1 to {max_tokens}. "
                    f"Raise it, shorten the row, or set data.prompt.overlong=drop."
                )
            overlong += 1
            continue
        prompts.append(Prompt(id=f"{label}/{row.id}", token_ids=ids, answer=row.answer, source=label, text=text))
    if not prompts:
        raise DataError(f"{label}: no prompt is left ({overlong} had more than {max_tokens} tokens).")
    if overlong:
        log.warning("%s: dropped %d of %d prompts with more than %d tokens", label, overlong, overlong + len(prompts), max_tokens)
    return prompts
