"""From a source's rows to prompts: formatted once, tokenised once, checked before the first step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Literal

from jinja2 import TemplateError
from pydantic import Field

from ada.config import config
from ada.data.duplicates import Duplicates
from ada.data.sources import DataError, Row, Source
from ada.types import Prompt

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


@config
class Shot:
    problem: Annotated[str, Field(description="a worked example's problem; prefix and suffix are put around it")]
    response: Annotated[str, Field(description="the response to it, in full")]


@config
class PromptFormat:
    """How a problem becomes the text that the model continues."""

    style: Annotated[Literal["raw", "chat"], Field(description="raw: prefix + problem + suffix; chat: the tokenizer's chat template")] = (
        "raw"
    )
    system: Annotated[str | None, Field(description="system message of a chat prompt; null: none")] = None
    prefix: Annotated[str, Field(description="text before the problem")] = ""
    suffix: Annotated[str, Field(description="text after the problem")] = ""
    shots: Annotated[
        list[Shot],
        Field(description="worked examples before the problem: earlier turns of a chat prompt, blank lines between them in a raw one"),
    ] = field(default_factory=list)
    overlong: Annotated[
        Literal["refuse", "drop"],
        Field(description="what happens to a prompt over generation.max_prompt_tokens: an error, or dropped and counted"),
    ] = "refuse"

    def text(self, row: Row, tokenizer: PreTrainedTokenizerBase) -> str:
        turns = [(self.prefix + shot.problem + self.suffix, shot.response) for shot in self.shots]
        body = self.prefix + row.problem + self.suffix
        if self.style == "raw":
            return "\n\n".join([*(asked + answered for asked, answered in turns), body])
        messages = [{"role": "system", "content": self.system}] if self.system is not None else []
        for asked, answered in turns:
            messages += [{"role": "user", "content": asked}, {"role": "assistant", "content": answered}]
        messages.append({"role": "user", "content": body})
        try:
            return str(tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True))
        except ValueError as error:
            if tokenizer.chat_template is not None:
                raise
            raise DataError(
                "data.prompt.style = 'chat', but the model's tokenizer has no chat template. Set data.prompt.style=raw."
            ) from error
        except TemplateError as error:
            raise DataError(
                f"data.prompt: the tokenizer's chat template refuses these messages ({error}). Some know no system message: "
                "set data.prompt.system=null and put the text into data.prompt.prefix."
            ) from error


@dataclass(frozen=True, slots=True)
class Loaded:
    """The prompts of a source, and what became of its other rows."""

    label: str
    prompts: list[Prompt]
    problems: dict[str, str]  # of each prompt, by id: the problem alone
    read: int  # rows
    overlong: int  # dropped: more tokens than allowed
    duplicates: Duplicates


class Encoder:
    """Text to ids. Where the tokenizer begins plain text with a begin token, so does every prompt, and exactly once: whether the chat
    template or the recipe's prefix wrote it too or not. Other special tokens come from the text alone."""

    def __init__(self, tokenizer: PreTrainedTokenizerBase):
        self.tokenizer, begin = tokenizer, tokenizer.bos_token_id
        self.begin = begin if begin is not None and list(tokenizer("").input_ids[:1]) == [begin] else None

    def __call__(self, text: str) -> tuple[int, ...]:
        ids = list(self.tokenizer(text, add_special_tokens=False).input_ids)
        if self.begin is None:
            return tuple(ids)
        start = next((place for place, token in enumerate(ids) if token != self.begin), len(ids))
        return (self.begin, *ids[start:])


def read_prompts(
    source: Source, label: str, form: PromptFormat, tokenizer: PreTrainedTokenizerBase, max_tokens: int, *, distinct: bool = False
) -> Loaded:
    """All prompts of a source, ids prefixed by `label` so that two sources never share one. `distinct`: repeated problems are dropped.

    Raises DataError for a source without any prompt and, where `form.overlong` is `refuse`, for a prompt of more than max_tokens.
    """
    encode, seen = Encoder(tokenizer), Duplicates()
    prompts, problems, overlong, read = [], {}, 0, 0
    for row in source.rows():
        read += 1
        if seen.add(row) and distinct:
            continue
        text = form.text(row, tokenizer)
        ids = encode(text)
        if not 0 < len(ids) <= max_tokens:
            if form.overlong == "refuse" or not ids:
                raise DataError(
                    f"{label}, row {row.id}: the prompt has {len(ids)} tokens; generation.max_prompt_tokens allows 1 to {max_tokens}. "
                    f"Raise it, shorten the row, or set data.prompt.overlong=drop."
                )
            overlong += 1
            continue
        prompt = Prompt(id=f"{label}/{row.id}", token_ids=ids, answer=row.answer, source=label, text=text, prior=row.prior)
        prompts.append(prompt)
        problems[prompt.id] = row.problem
    if not prompts:
        raise DataError(f"{label}: no prompt is left ({overlong} had more than {max_tokens} tokens).")
    return Loaded(label, prompts, problems, read, overlong, seen)


def load_prompts(source: Source, label: str, form: PromptFormat, tokenizer: PreTrainedTokenizerBase, max_tokens: int) -> list[Prompt]:
    """`read_prompts` where only the prompts are wanted."""
    return read_prompts(source, label, form, tokenizer, max_tokens).prompts


def decoder(tokenizer: PreTrainedTokenizerBase) -> Callable[[tuple[int, ...]], str]:
    """From sampled ids to the text that people and reward functions read."""
    return lambda ids: str(tokenizer.decode(list(ids), skip_special_tokens=True))
