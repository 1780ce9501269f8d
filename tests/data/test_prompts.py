"""From rows to prompts with tokenizers made here: what is tokenised, what is refused, and that no two prompts share an id."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast

from ada.data.prompts import PromptFormat, load_prompts, read_prompts
from ada.data.sources import DataError, Row

WORDS = {"<s>": 0, "<unk>": 1, "hi": 2, "you": 3, "user:": 4, "system:": 5, "go": 6, ":": 7}
RAW = PromptFormat()
TEMPLATE = "<s> {% for m in messages %}{{ m.role }}: {{ m.content }} {% endfor %}{% if add_generation_prompt %}go{% endif %}"


@dataclass(frozen=True)
class Rows:
    values: list[Row]
    name: str = "rows"

    def rows(self):
        yield from self.values


@pytest.fixture(scope="module")
def tokenizer():
    """Word-level; begins every text with <s> unless told not to, and so does its chat template."""
    inner = Tokenizer(models.WordLevel(WORDS, unk_token="<unk>"))
    inner.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    inner.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 0)])
    fast = PreTrainedTokenizerFast(tokenizer_object=inner, bos_token="<s>", unk_token="<unk>")
    fast.chat_template = TEMPLATE
    return fast


def load(tokenizer, *problems, form=RAW, label="set", max_tokens=10):
    return load_prompts(Rows([Row(str(i), text, "7") for i, text in enumerate(problems)]), label, form, tokenizer, max_tokens)


def test_a_chat_prompt_has_one_begin_token_M03(tokenizer):
    (prompt,) = load(tokenizer, "hi", form=PromptFormat(style="chat"))
    assert prompt.token_ids == (0, 4, 2, 6)
    assert prompt.text == "<s> user: hi go"


def test_a_raw_prompt_has_one_begin_token_M03(tokenizer):
    (prompt,) = load(tokenizer, "hi", form=PromptFormat(prefix="you ", suffix=" go"))
    assert prompt.token_ids == (0, 3, 2, 6)
    assert (prompt.text, prompt.answer, prompt.source, prompt.id) == ("you hi go", "7", "set", "set/0")


def test_a_system_message_comes_first_and_an_empty_one_counts_K04(tokenizer):
    assert load(tokenizer, "hi", form=PromptFormat(style="chat", system="you"))[0].token_ids == (0, 5, 3, 4, 2, 6)
    assert load(tokenizer, "hi", form=PromptFormat(style="chat", system=""))[0].token_ids == (0, 5, 4, 2, 6)


def test_a_prompt_at_the_limit_is_whole_and_one_beyond_is_refused_G02_G03(tokenizer):
    texts = ["hi"] * 36 + ["hi you hi"] + ["hi"] * 3
    prompts = load(tokenizer, *texts, max_tokens=4)
    assert len(prompts) == 40 and prompts[36].token_ids == (0, 2, 3, 2)
    with pytest.raises(DataError, match=r"set, row 36: the prompt has 4 tokens; generation.max_prompt_tokens allows 1 to 3"):
        load(tokenizer, *texts, max_tokens=3)


def test_overlong_prompts_are_dropped_and_counted_where_asked_G02_G03(tokenizer):
    source = Rows([Row(str(i), text, "7") for i, text in enumerate(["hi", "hi you hi", "you"])])
    loaded = read_prompts(source, "set", PromptFormat(overlong="drop"), tokenizer, 3)
    assert [(prompt.id, prompt.token_ids) for prompt in loaded.prompts] == [("set/0", (0, 2)), ("set/2", (0, 3))]
    assert (loaded.overlong, loaded.read) == (1, 3)


def test_threads_that_share_a_tokenizer_do_not_share_a_limit_M07(tokenizer):
    """Nothing is ever set in a tokenizer, as a truncation would be."""
    source = Rows([Row(str(n), " ".join(["hi"] * n), "7") for n in range(1, 20)])

    def lengths(limit: int) -> set[tuple[int, ...]]:
        loaded = (read_prompts(source, "set", PromptFormat(overlong="drop"), tokenizer, limit) for _ in range(50))
        return {tuple(len(prompt.token_ids) for prompt in each.prompts) for each in loaded}

    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lengths, range(10, 14)))
    assert found == [{tuple(range(2, limit + 1))} for limit in range(10, 14)]  # <s> counts


@pytest.mark.parametrize("style", ["raw", "chat"])
@pytest.mark.parametrize("written", ["", "<s> ", "<s> <s> "])
def test_one_begin_token_whoever_writes_it_M03(tokenizer, style, written, monkeypatch):
    """By the recipe's prefix, or by a chat template that writes none, one or two."""
    monkeypatch.setattr(tokenizer, "chat_template", written + "{{ messages[0].content }}")
    form = PromptFormat(style=style, prefix=written if style == "raw" else "")
    assert load(tokenizer, "hi", form=form)[0].token_ids == (0, 2)


def test_a_tokenizer_that_begins_nothing_adds_nothing_M03(tokenizer):
    without = PreTrainedTokenizerFast(tokenizer_object=Tokenizer(models.WordLevel(WORDS, unk_token="<unk>")), bos_token="<s>")
    assert load(without, "hi")[0].token_ids == (2,)


def test_a_chat_template_that_is_missing_or_refuses_is_told(tokenizer, monkeypatch):
    monkeypatch.setattr(tokenizer, "chat_template", "{{ raise_exception('System role not supported') }}")
    with pytest.raises(DataError, match=r"System role not supported.*set data\.prompt\.system=null"):
        load(tokenizer, "hi", form=PromptFormat(style="chat", system="you"))
    monkeypatch.setattr(tokenizer, "chat_template", None)
    with pytest.raises(DataError, match=r"no chat template\. Set data\.prompt\.style=raw"):
        load(tokenizer, "hi", form=PromptFormat(style="chat"))


def test_a_source_without_any_prompt_left_is_refused(tokenizer):
    with pytest.raises(DataError, match=r"set: no prompt is left \(1 had more than 2 tokens\)"):
        load(tokenizer, "hi you hi", form=PromptFormat(overlong="drop"), max_tokens=2)


def test_ids_are_unique_over_sources_A07(tokenizer):
    """Both sources have rows 0 and 1, and all rows the same text."""
    prompts = [prompt for label in ("a", "b") for prompt in load(tokenizer, "hi", "hi", label=label)]
    assert [prompt.id for prompt in prompts] == ["a/0", "a/1", "b/0", "b/1"]
