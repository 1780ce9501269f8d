"""From a whole response to the text of its final answer. Every rule is linear in the length of the response.

1. Reasoning in <think>...</think> is skipped; reasoning that never closes was cut off and holds no answer.
2. The last complete non-empty box counts; boxes joined only by commas, "and" or "or" are one answer. Where the last box was cut off,
   or every box is empty, there is no answer: nothing else in the text may stand in for it.
3. Without any box: what follows the last explicit marker ("The final answer is ...", "Answer: ...", "#### ...", "<answer>", "答案是").
"""

from __future__ import annotations

import re
from typing import NamedTuple

from ada.rewards.answers.limits import ANSWER_CHARACTERS, ITEMS

_BOX_OR_BRACE = re.compile(  # an escaped brace is a character of the answer and nests nothing
    r"(?P<open>\\(?:boxed|fbox)[ \t\n]{0,9}\{)|(?P<bare>\\(?:boxed|fbox)(?![A-Za-z])[ \t\n]*)|\\[{}]|(?P<left>\{)|(?P<right>\})"
)
_UNBRACED = re.compile(r"-?\d[\d.,]*(?<![.,])|[A-Za-z](?![A-Za-z])|\\[A-Za-z]+")  # \boxed 2
_JOINT = re.compile(r"(?:[\s$,;]|\\[()\[\],; ]|\b(?:and|or)\b|\\text\{\s*(?:and|or)\s*\}){0,12}")
_END_TOKEN = re.compile(r"(?:<\|\w{1,30}\|>|<｜[\w▁ ]{1,40}｜>|</s>|<eos>)\Z")

_MARKER = re.compile(
    r"\banswers?\s{0,3}[*_]{0,3}\s{0,3}(?:is|are|was|would\s+be|must\s+be|[:：=])"
    r"|^[#*_ \t]*(?:the\s)?(?:final\s)?answer[*_:： \t]*$"  # a heading
    r"|^\s{0,8}####(?!#)|<answer>|答案(?:是|为|[:：])|ответ\s{0,3}[:：]",
    re.IGNORECASE | re.MULTILINE,
)
_VERDICT_ON_ITSELF = re.compile(
    r"\s*(?:correct|right|wrong|incorrect|verified|clear|unique)\b", re.IGNORECASE
)  # "I hope the answer is correct"
_FILLER = re.compile(r"(?:(?:therefore|thus|hence|then|simply|just|indeed|exactly|option|choice)\b|[\s:：=*_,])+", re.IGNORECASE)
_MATH = {"$$": "$$", "\\[": "\\]", "\\(": "\\)", "$": "$"}
_SENTENCE_END = re.compile(r"\n|。|</answer>|[.!?](?=[*_]*(?:\s|$))|\s\((?=[A-Za-z]{3})|,?\s+(?:since|because|as|so|which|where|not)\b")


class _Box(NamedTuple):
    """A box in a text, from `start` to `end`; its content starts at `inside` and ends before the closing brace."""

    start: int
    end: int
    inside: int
    complete: bool
    braced: bool = True

    def content(self, text: str) -> str:
        return text[self.inside : self.end - self.braced]


def final_answer(response: str) -> str | None:
    """The answer's text as it stands in the response; None where there is none. Never longer than `ANSWER_CHARACTERS`."""
    text = _after_reasoning(response)
    if text is None:
        return None
    boxes = _boxes(text)
    found = _boxed(text, boxes) if boxes else marked_value(text)
    return found if found and len(found) <= ANSWER_CHARACTERS else None


def unboxed(text: str) -> str:
    """The content of a text that is one box, however often boxed; else the text."""
    while True:
        text = text.strip()
        boxes = _boxes(text)
        if len(boxes) != 1 or not boxes[0].complete or (boxes[0].start, boxes[0].end) != (0, len(text)):
            return text
        text = boxes[0].content(text)


def _after_reasoning(response: str) -> str | None:
    end = response.rfind("</think>")
    if response.rfind("<think>") > end:
        return None
    text = response[end + len("</think>") if end >= 0 else 0 :].rstrip()
    while token := _END_TOKEN.search(text, max(0, len(text) - 50)):
        text = text[: token.start()].rstrip()
    return text


def _boxes(text: str) -> list[_Box]:
    """The boxes that are in no other one, first to last; a last one that was cut off is there too."""
    found: list[_Box] = []
    open_braces: list[tuple[int, int] | None] = []  # where a box starts and its content does; None for a plain brace
    start = min((place for box in ("\\boxed", "\\fbox") if (place := text.find(box)) >= 0), default=len(text))
    for token in _BOX_OR_BRACE.finditer(text, start):  # braces opened before the first box close after it
        match token.lastgroup:
            case "open":
                open_braces.append(token.span())
            case "bare":
                value = _UNBRACED.match(text, token.end())
                if value:
                    found.append(_Box(token.start(), value.end(), value.start(), complete=True, braced=False))
                elif token.end() == len(text):
                    found.append(_Box(token.start(), len(text), len(text), complete=False))
                # else a mention of the macro, as in "I used \\boxed."
            case "left":
                open_braces.append(None)
            case "right" if open_braces and (opened := open_braces.pop()):
                while found and found[-1].start > opened[0]:
                    found.pop()
                found.append(_Box(opened[0], token.end(), opened[1], complete=True))
    last_open = next((opened for opened in reversed(open_braces) if opened), None)
    if last_open and (not found or last_open[0] > found[-1].start):
        found.append(_Box(last_open[0], len(text), last_open[1], complete=False))
    return found


def _boxed(text: str, boxes: list[_Box]) -> str | None:
    if not boxes[-1].complete:
        return None
    filled = [box for box in boxes[-ITEMS:] if _filled(text[box.inside : box.end - box.braced])]
    if not filled:
        return None
    first = len(filled) - 1
    while first and _joined(text[filled[first - 1].end : filled[first].start]):
        first -= 1
    if filled[-1].end - filled[first].start > 2 * ANSWER_CHARACTERS:
        return None
    return ", ".join(dict.fromkeys(unboxed(box.content(text)) for box in filled[first:]))


def _filled(content: str) -> bool:
    return len(content) > ANSWER_CHARACTERS or bool(unboxed(content).strip("{}$~ \n\t"))


def _joined(between: str) -> bool:
    return len(between) < 60 and "\n\n" not in between and _JOINT.fullmatch(between) is not None


def marked_value(text: str) -> str | None:
    """What follows the last marker in the text, as far as it can be an answer."""
    markers = [marker for marker in _MARKER.finditer(text) if not _VERDICT_ON_ITSELF.match(text, marker.end())]
    return _value_at_start(text[markers[-1].end() :][: ANSWER_CHARACTERS + 200]) if markers else None


def _value_at_start(text: str) -> str | None:
    """A run of $...$ joined by commas, "and" or "or"; or else the rest of the first sentence."""
    text = text.lstrip()
    filler = _FILLER.match(text)
    text = text[filler.end() :] if filler else text
    parts: list[str] = []
    while (opening := next((o for o in _MATH if text.startswith(o)), None)) and (end := text.find(_MATH[opening], len(opening))) > 0:
        if opening == "$" and "\n" in text[:end]:
            break  # a price, not a formula
        parts.append(text[len(opening) : end])
        text = text[end + len(_MATH[opening]) :]
        joint = re.match(r"\s*(?:,\s*)?(?:and|or)?\s*(?=\$|\\[(\[])", text)
        if not joint:
            break
        text = text[joint.end() :]
    if parts:
        unit = re.match(r"[ ~]*(?:\\?%|°|[A-Za-z]+(?: [A-Za-z]+)?(?=\s*(?:[.,]|$)))", text.split("\n")[0])
        return ", ".join(parts) + (unit.group() if unit and len(parts) == 1 else "")
    rest = _SENTENCE_END.search(text)
    return (text[: rest.start()] if rest else text).strip(" *_`") or None
