"""runs/<name>/: everything a run leaves behind.

recipe.yaml      every key as resolved            summary.json    the outcome, written once at the end
metrics.jsonl    one strict JSON object a step    log.txt         warnings of all ranks, everything of rank 0
samples.jsonl    responses to look at             checkpoints/    step-000050/, ...
pools.jsonl      every draw's verdict, a step     report.html     all of it, to look at (ada/report)
"""

from __future__ import annotations

import fcntl
import json
import logging
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ada.observability import strict_json
from ada.observability.json_lines import JsonLines, write_atomically
from ada.recipe.errors import RecipeError

if TYPE_CHECKING:
    from ada.types import Attempt, Pool, Prompt

logger = logging.getLogger(__name__)


class RunDirectory:
    """Written by rank 0 alone. A write that fails (a full disk) is counted in `faults` and told once; the run goes on."""

    def __init__(self, path: Path):
        self._lock: int | None = _locked(path)
        self.path = path
        self.checkpoints = path / "checkpoints"
        self.faults: Counter[str] = Counter()  # by file
        self._metrics = JsonLines(path / "metrics.jsonl")
        self._samples = JsonLines(path / "samples.jsonl")
        self._pools = JsonLines(path / "pools.jsonl")

    @property
    def name(self) -> str:
        return self.path.name

    @classmethod
    def fresh(cls, root: str | Path, name: str) -> RunDirectory:
        """A new folder: root/name, or root/name-2, -3, ... where it is taken. Safe against runs that start at the same time."""
        _check_name(name)
        number = 1
        while True:
            path = Path(root) / (name if number == 1 else f"{name}-{number}")
            try:
                path.mkdir(parents=True)
                return cls(path)
            except FileExistsError:
                number += 1

    @classmethod
    def open(cls, root: str | Path, name: str, must_exist: bool = False) -> RunDirectory:
        """Exactly root/name, which may hold a run already.

        Raises FileExistsError where another process is writing it, FileNotFoundError where it `must_exist` and does not.
        """
        _check_name(name)
        path = Path(root) / name
        if must_exist and not path.is_dir():
            there = sorted(folder.name for folder in Path(root).glob("*/") if (folder / "metrics.jsonl").exists())
            raise FileNotFoundError(f"{path}: there is no such run to continue. Runs in {root}: {', '.join(there) or 'none'}.")
        path.mkdir(parents=True, exist_ok=True)
        return cls(path)

    def begin_anew(self) -> Path | None:
        """Moves all that an earlier run left here into a folder of its own, which is returned; None where there was no run."""
        if not (self.path / "metrics.jsonl").exists():
            return None
        number = 1
        while (earlier := self.path / f"earlier-{number}").exists():
            number += 1
        earlier.mkdir()
        for path in sorted(self.path.iterdir()):
            if not path.name.startswith("earlier-"):
                path.rename(earlier / path.name)
        return earlier

    def write_recipe(self, text: str) -> None:
        self._guard("recipe.yaml", lambda: write_atomically(self.path / "recipe.yaml", text))

    @contextmanager
    def measuring(self, step: int) -> Iterator[dict[str, Any]]:
        """Gives a dict for the metrics of `step` and writes them when the block ends, also when it ends by an exception, with its name."""
        metrics: dict[str, Any] = {}
        try:
            yield metrics
        except BaseException as error:
            failed = isinstance(error, Exception)  # else somebody stopped the run
            logger.log(logging.ERROR if failed else logging.INFO, "step %d ended by %s", step, type(error).__name__, exc_info=failed)
            self._write_metrics(step, {**metrics, "error": f"{type(error).__name__}: {error}"})
            raise
        self._write_metrics(step, metrics)

    def write_samples(self, step: int, samples: Iterable[tuple[Prompt, Attempt]]) -> list[dict[str, Any]]:
        """The rows that were written."""
        rows = []
        for prompt, attempt in samples:
            row = {
                "step": step,
                "prompt_id": prompt.id,
                "draw": attempt.response.draw,
                "verdict": attempt.failure or ("right" if attempt.right else "wrong"),
                "reward": None if attempt.failure else attempt.reward,
                "parts": dict(attempt.parts),
                "prompt": prompt.text,
                "response": attempt.text,
                "answer": prompt.answer,
                "finish_reason": attempt.response.finish_reason,
                "tokens": len(attempt.response.token_ids),
            }
            self._guard("samples.jsonl", lambda row=row: self._samples.append(row))  # type: ignore[misc]
            rows.append(row)
        return rows

    def write_pools(self, step: int, pools: Sequence[Pool]) -> None:
        """One line: of each pool its prompt, its draws in their order (R right, W wrong, F no verdict), why it ended, and the belief."""
        row = {
            "step": step,
            "prompts": [pool.prompt.id for pool in pools],
            "verdicts": ["".join("R" if a.right else "W" if a.wrong else "F" for a in pool.attempts) for pool in pools],
            "outcomes": [pool.outcome for pool in pools],
            "beliefs": [pool.belief.mean if pool.belief else None for pool in pools],
        }
        self._guard("pools.jsonl", lambda: self._pools.append(row))

    def write_summary(self, summary: Mapping[str, Any]) -> None:
        text = json.dumps(strict_json.plain(summary), indent=2, allow_nan=False, ensure_ascii=False) + "\n"
        self._guard("summary.json", lambda: write_atomically(self.path / "summary.json", text))

    def rewind(self, step: int, measured: bool = True) -> None:
        """Drops what was logged after `step`: a run continued from that step's checkpoint writes those steps anew.

        `measured`: the step's own metrics were complete; else they too are written anew.
        """
        for lines in (self._metrics, self._samples, self._pools):
            last = step if measured or lines is not self._metrics else step - 1
            lines.keep(lambda row, last=last: row.get("step", 0) <= last)  # type: ignore[misc]
        (self.path / "summary.json").unlink(missing_ok=True)  # it told of an end

    def rows(self) -> list[dict[str, Any]]:
        """Of metrics.jsonl, as it is."""
        return self._metrics.read()

    def write_aside(self, name: str, content: Mapping[str, Any]) -> None:
        """A JSON file that is none of the run's usual ones, for whoever looks into what went wrong."""

        def write() -> None:
            path = self.path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(path, json.dumps(strict_json.plain(content), allow_nan=False) + "\n")

        self._guard(name, write)

    def close(self) -> None:
        lock, self._lock = self._lock, None
        if lock is not None:
            os.close(lock)
        self._metrics.close()
        self._samples.close()
        self._pools.close()

    def _write_metrics(self, step: int, metrics: Mapping[str, Any]) -> None:
        self._guard("metrics.jsonl", lambda: self._metrics.append({"step": step, **metrics}))

    def _guard(self, file: str, write: Callable[[], None]) -> None:
        try:
            write()
        except OSError as error:
            self.faults[file] += 1
            if self.faults[file] == 1:
                logger.warning(
                    "%s could not be written (%s); the run goes on, and more such faults are only counted", self.path / file, error
                )


def _locked(path: Path) -> int:
    """A lock on the folder that ends with the process, however that ends; no file is left. Some network file systems have none to give."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise FileExistsError(f"{path}: another process is writing this run. Let it end, or give this one another run_name.") from None
    except OSError:
        pass
    return descriptor


def _check_name(name: str) -> None:
    if not name or name != Path(name).name or name.startswith("."):
        raise RecipeError(
            f"run_name = {name!r}: allowed is the name of one folder, without '/' and not beginning with a dot; choose another"
        )
