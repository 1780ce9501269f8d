"""In which order an engine sleeps and wakes; a stand-in, since vLLM's own sleep does nothing without a GPU."""

from __future__ import annotations

import pytest
import torch

from ada.engine.base import GuardedEngine
from ada.engine.errors import EngineError
from ada.engine.folder import ModelFolder
from ada.types import Draw, Prompt
from tests.engine.conftest import GENERATION

FOLDER = ModelFolder("here", 32, 256, (1,), {"w": torch.Size([2])}, {})
DRAW = Draw(Prompt("p", (3, 4), "", "s", ""), 0, 1)


class Noting(GuardedEngine):
    def __init__(self, can_sleep: bool = True):
        super().__init__(FOLDER, GENERATION, room=64)
        self.can_sleep, self.did = can_sleep, []

    def _start(self, draw):
        self.did.append("start")

    def _decode(self):
        return []

    def _end(self, keys): ...

    def _sleep(self):
        self.did.append("sleep")
        return self.can_sleep

    def _wake(self, part):
        self.did.append(f"wake {part}")

    def _replace(self, weights):
        self.did += [f"load {name}" for name, _ in weights]

    def _wipe_cache(self):
        self.did.append("wipe")

    def _score(self, sequences):
        return []

    def close(self): ...


def load(engine: Noting, version: int) -> None:
    engine.load_weights([("w", torch.zeros(2))], version)


def test_weights_wake_before_the_load_and_the_cache_after_it_W02():
    engine = Noting()
    load(engine, 1)
    engine.did.clear()
    engine.sleep()
    load(engine, 2)
    assert engine.did == ["sleep", "wake weights", "load w", "wake kv_cache", "wipe"]  # what woke up holds garbage
    load(engine, 3)
    assert engine.did[5:] == ["load w"]


def test_a_sleeping_engine_refuses_to_generate_and_sleeps_once_W02():
    engine = Noting()
    load(engine, 1)
    engine.sleep()
    engine.sleep()
    assert engine.did == ["load w", "sleep"]
    with pytest.raises(EngineError, match="it sleeps: load_weights wakes it"):
        engine.submit(DRAW)
    with pytest.raises(EngineError, match="no longer in the engine"):
        engine.trust_folder_weights(1)


def test_an_engine_that_cannot_sleep_goes_on():
    engine = Noting(can_sleep=False)
    load(engine, 1)
    engine.sleep()
    engine.submit(DRAW)
    assert engine.did == ["load w", "sleep", "start"]
    with pytest.raises(EngineError, match="cannot sleep while 1 draws run"):
        engine.sleep()
