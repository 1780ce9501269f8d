"""The pages of docs/ and what is in them."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

ROOT = Path(__file__).parents[2]
GENERATED = ROOT / "docs" / "recipe-keys.md"
PAGES = [*sorted((ROOT / "docs").rglob("*.md")), ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
WRITTEN = [page for page in PAGES if page != GENERATED]
FENCE = re.compile(r"^( *)```(.*)\n((?:.*\n)*?)\1```$", re.MULTILINE)


def blocks(page: Path, *languages: str) -> list[str]:
    """The fenced blocks of these languages; of all of them where none is named."""
    return [text for _, language, text in FENCE.findall(page.read_text()) if language in languages or not languages]


def commands() -> list[str]:
    """Every command in a ```bash block, once, without its comment; a line that ends in a backslash goes on in the next."""
    lines = [line for page in PAGES for text in blocks(page, "bash") for line in text.replace("\\\n", " ").splitlines()]
    return list(dict.fromkeys(shlex.join(words) for line in lines if (words := shlex.split(line, comments=True))))


def spans() -> dict[str, str]:
    """Every `code span` outside of blocks, and a page that has it."""
    found: dict[str, str] = {}
    for page in WRITTEN:
        text = FENCE.sub("", page.read_text())
        found |= dict.fromkeys(re.findall(r"(?<!`)`([^`\n]+)`(?!`)", text), page.name)
    return found


def documented_keys() -> set[str]:
    """Every key of the generated page, dotted, and every section that leads to it."""
    keys, path = set(), ""
    for line in GENERATED.read_text().splitlines():
        if heading := re.match(r"#+ (?:`([\w.]+)|The recipe itself)", line):
            path = f"{heading[1]}." if heading[1] else ""
            keys.add(path.rstrip("."))
        elif row := re.match(r"\| `(\w+)` \|", line):
            keys.add(path + row[1])
    return keys


def metric_patterns(text: str) -> list[str]:
    """The metrics in the first column of a table of docs/metrics.md, as patterns: `<set>` and `<k>` stand for any name and number."""
    cells = [line.split(" | ")[0] for line in text.splitlines() if line.startswith("| `")]
    names = [name for cell in cells for name in re.findall(r"`([a-z_0-9/@<>]+)`", cell)]
    times = [name for line in text.splitlines() if line.startswith("| `time/step`") for name in re.findall(r"`(time/[a-z]+)`", line)]
    return [re.sub(r"<[a-z]+>", "[^/]+", name) for name in names + times]
