"""What a run saves, and when. After every step it holds the small state of that step in memory: where the run is stopped in the midst
of the next one, before that step's update, this and the actor's weights still belong together and are written at once.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ada.checkpoint.config import Checkpoints
from ada.checkpoint.errors import CheckpointError
from ada.checkpoint.folder import remove, steps_in, superfluous
from ada.checkpoint.randomness import random_state
from ada.checkpoint.save import save
from ada.contracts import Stateful
from ada.ranks import Ranks
from ada.watch.pulse import Pulse

if TYPE_CHECKING:
    from ada.trainer.actor import Actor

log = logging.getLogger(__name__)


class Keeper:
    """`parts`: everything that remembers something from step to step, by its name in the checkpoint."""

    def __init__(
        self, config: Checkpoints, folder: Path, actor: Actor, ranks: Ranks, recipe: str, parts: Mapping[str, Stateful], pulse: Pulse
    ):
        self.config, self.folder, self.actor, self.ranks, self.recipe, self.parts = config, folder, actor, ranks, recipe, parts
        self.pulse = pulse
        self.step = 0
        self.failures = 0
        self._state: dict[str, Any] | None = None
        self._randomness: dict[str, Any] = {}
        self._seconds = 0.0
        self._on_disk: tuple[int, bool] | None = None  # the newest checkpoint: its step, and whether that is finished

    def hold(self, step: int, facts: Mapping[str, Any]) -> None:
        """The state after `step`, from which the run could go on: of all parts, and the `facts` (plain data, `unfinished` among them)."""
        self.step = step
        self._state = {"step": step, "parts": {name: part.state_dict() for name, part in self.parts.items()}, **facts}
        self._randomness = random_state()

    def renew(self, facts: Mapping[str, Any]) -> None:
        """Other `facts` for the state that is held; no part has learnt anything since."""
        assert self._state is not None
        self._state |= facts
        self._randomness = random_state()

    def spent(self) -> float:
        """Seconds that checkpoints took since the last time this was asked."""
        seconds, self._seconds = self._seconds, 0.0
        return seconds

    def save(self, scores: Mapping[int, float]) -> None:
        """Writes the held state, then removes what `checkpoints.keep` no longer wants; `scores`: held-out accuracy by step.

        Collective. Raises CheckpointError on all ranks.
        """
        assert self._state is not None
        held = (self.step, self._state["unfinished"] is None)
        if held == self._on_disk:
            return
        began = time.perf_counter()
        self.pulse.mark("writing a checkpoint")
        try:
            save(self.folder, self.step, self.actor, self.ranks, self._state, self._randomness, self.recipe, self.pulse.mark)
        except CheckpointError:
            self.failures += 1
            raise
        finally:
            self._seconds += time.perf_counter() - began
        self._on_disk = held
        if self.ranks.first:
            for step in superfluous(steps_in(self.folder), scores, self.config.keep, self.step):
                remove(self.folder, step)
                log.info("removed the checkpoint of step %d", step)

    def restore(self, state: Mapping[str, Any]) -> None:
        """What `hold` held of the parts, from a checkpoint. One that the run did not have then (`resume=changed`) begins anew."""
        self._on_disk = (state["step"], state["unfinished"] is None)
        for name in self.parts.keys() & state["parts"].keys():
            self.parts[name].load_state_dict(state["parts"][name])
