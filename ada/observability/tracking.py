"""Metrics on Weights & Biases and other trackers. A fault of a tracker is counted and told once; it never ends the run."""

from __future__ import annotations

import contextlib
import logging
import secrets
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from ada.config import config
from ada.observability.other_trackers import close_tracker, open_tracker
from ada.observability.wandb_run import define, table

if TYPE_CHECKING:
    from ada.types import StepRecord

logger = logging.getLogger(__name__)

_REACH_LIMIT_SECONDS = 5.0
_CONNECT_LIMIT_SECONDS = 20.0
_UPLOAD_LIMIT_SECONDS = 30.0  # at the end of the run


@config
class Tracking:
    """Where metrics go besides the run's own folder."""

    wandb: Annotated[
        Literal["auto", "online", "offline", "off"],
        BeforeValidator(lambda value: "off" if value is False else value),  # YAML reads the bare word off as false
        Field(description="auto: online where an API key is found (WANDB_API_KEY, `wandb login`), else offline, to be synced later"),
    ] = "auto"
    project: Annotated[str, Field(min_length=1, description="the project on wandb")] = "ada"
    entity: Annotated[str | None, Field(description="user or team on wandb; null: the account's default")] = None
    also: Annotated[
        list[Literal["tensorboard", "trackio", "mlflow", "aim", "comet_ml", "clearml", "dvclive", "swanlab"]],
        Field(description="other trackers that metrics go to as well, each from a package of its own: [tensorboard]"),
    ] = field(default_factory=list)


class Tracker:
    """One run on wandb, or nothing at all where it is off or could not start. Rank 0 only."""

    def __init__(
        self,
        config: Tracking,
        folder: Path,
        name: str,
        recipe: Mapping[str, Any],
        id: str | None = None,
        earlier: Sequence[StepRecord] = (),
    ):
        """`folder`: the run's; wandb's own files go into folder/wandb. `recipe`: as resolved, logged as the run's config.

        A run that is continued names its `id` on wandb and what it logged up to its checkpoint. Online, what wandb has already is not sent
        again; offline, where nothing can be added to the files of an earlier process, the new ones hold the whole run.
        """
        self.faults = 0
        self.id: str | None = None
        self._run: Any = None
        self._others: list[Any] = []
        self._defined: set[str] = set()  # metrics that wandb knows axis and summary of
        first = earlier[-1].step + 1 if earlier else 0
        for other in config.also:
            self._guard(lambda other=other: self._others.append(open_tracker(other, folder, config.project, name, first)), other)  # type: ignore[misc]
        self._first = 0  # steps below it are on wandb already
        if config.wandb != "off":
            self.id = _run_id(folder, id)
            self._guard(lambda: self._start(config, folder, name, recipe))
            if earlier and self._run is not None and self._run.offline:
                self._set_aside(folder)
                for record in earlier:
                    self._guard(lambda record=record: self._log(known(record), record.step))  # type: ignore[misc]

    @property
    def url(self) -> str | None:
        """Where the run is shown; None where it is not online."""
        return self._run.url if self._run is not None and not self._run.offline else None

    def log(self, record: StepRecord) -> None:
        """All metrics of a step that have a value, at that step."""
        metrics = known(record)
        if self._run is not None and record.step >= self._first:
            self._guard(lambda: self._log(metrics, record.step))
        for other in self._others:
            self._guard(lambda other=other: other.log(metrics, step=record.step), other.name)  # type: ignore[misc]

    def samples(self, step: int, rows: Sequence[Mapping[str, Any]]) -> None:
        """A table of a step's responses, after its metrics and before those of the next step."""
        if rows and step >= self._first:
            self._guard(lambda: self._run and self._run.log({"samples": table(rows)}, step=step))

    def close(self, exit_code: int = 0, summary: Mapping[str, Any] | None = None) -> None:
        """Uploads what is left, for 30 s at most. A second call does nothing."""

        def finish() -> None:
            run, self._run = self._run, None
            if run is not None:
                run.summary.update(dict(summary or {}))
                run.finish(exit_code=exit_code)

        self._guard(finish)
        others, self._others = self._others, []
        for other in others:
            self._guard(lambda other=other: close_tracker(other), other.name)  # type: ignore[misc]

    def _log(self, metrics: Mapping[str, Any], step: int) -> None:
        if fresh := {"step", *metrics} - self._defined:
            define(self._run, sorted(fresh))
            self._defined |= fresh
        self._run.log({"step": step, **metrics}, step=step)

    def _start(self, config: Tracking, folder: Path, name: str, recipe: Mapping[str, Any]) -> None:
        import wandb  # a second to import, and not at all where tracking is off

        def start(mode: Literal["online", "offline"]) -> Any:
            settings = wandb.Settings(
                silent=True,
                console="off",  # the run has its own log.txt, and wandb would wrap the terminal
                init_timeout=_CONNECT_LIMIT_SECONDS,
                finish_timeout=_UPLOAD_LIMIT_SECONDS,
            )
            return wandb.init(
                project=config.project,
                entity=config.entity,
                name=name,
                id=self.id,
                dir=str(folder),
                config=dict(recipe),
                save_code=False,
                mode=mode,
                resume="allow" if mode == "online" else None,
                settings=settings,
            )

        wandb.setup(wandb.Settings(silent=True))
        if config.wandb == "online" or (config.wandb == "auto" and wandb.login(prompt=False, verify=False)):
            try:
                check_reachable(wandb.setup().settings.base_url)
                self._run = start("online")
                self._first = self._run.starting_step
                return
            except Exception as error:  # no network, a key that is not accepted
                self.faults += 1
                later = f"wandb sync {folder / 'wandb'}/offline-run-*"
                logger.warning("wandb could not go online (%s); logging offline. To upload it later: %s", error, later)
                wandb.teardown()  # or its service says that the run's id is in use
        self._run = start("offline")

    def _set_aside(self, folder: Path) -> None:
        """Earlier offline files of the run, out of the way of `wandb sync wandb/offline-run-*`."""
        aside = folder / "wandb" / "superseded"
        for path in (folder / "wandb").glob("offline-run-*"):
            if not path.samefile(Path(self._run.dir).parent):
                aside.mkdir(exist_ok=True)
                path.rename(aside / path.name)

    def _guard(self, action: Callable[[], Any], whose: str = "wandb") -> None:
        try:
            action()
        except Exception as error:
            self.faults += 1
            if self.faults == 1:
                logger.warning(
                    "%s failed (%s: %s); the run goes on, and more such faults are only counted", whose, type(error).__name__, error
                )


def check_reachable(url: str) -> None:
    """Raises URLError at once where there is no network; wandb itself would go on trying. Knows proxies; any answer will do."""
    with contextlib.suppress(urllib.error.HTTPError):
        urllib.request.urlopen(url, timeout=_REACH_LIMIT_SECONDS).close()


def known(record: StepRecord) -> dict[str, Any]:
    """Its metrics that have a value."""
    return {name: value for name, value in record.metrics.items() if value is not None}


def _run_id(folder: Path, known: str | None) -> str:
    """The id stays with the folder, so that a run that is continued goes on in the same curves."""
    path = folder / "wandb" / "run-id"
    if known is not None or not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(known or secrets.token_hex(4))
    return path.read_text().strip()
