"""Where the ranks of a job leave signs of life and the first failure: torch.distributed's store, which outlives any collective."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Collection
from dataclasses import asdict, dataclass

import torch.distributed as dist

from ada.watch.processes import Process


@dataclass(frozen=True, slots=True)
class Sign:
    """Of one rank. `written`: a counter, so that clocks need not agree; `still`: seconds since its last progress; `doing`: what."""

    written: int
    still: float
    doing: str
    process: Process


class Board:
    @classmethod
    def of_job(cls) -> Board | None:
        """Of the default process group; None where this process is alone. It has a connection of its own: others wait in theirs."""
        if not dist.is_initialized() or dist.get_world_size() == 1:
            return None
        store = dist.distributed_c10d._get_default_store().clone()  # type: ignore[attr-defined]  # torch's type stubs leave it out
        attempt = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")  # a launcher may start all ranks again, beside the same store
        return cls(dist.PrefixStore(f"ada-watch-{attempt}", store), dist.get_rank(), dist.get_world_size())

    def __init__(self, store: dist.Store, rank: int, world: int):
        self.store, self.rank, self.world = store, rank, world

    def sign(self, sign: Sign) -> None:
        self.store.set(f"sign/{self.rank}", json.dumps(asdict(sign)))

    def signs(self) -> dict[int, Sign]:
        """Of the other ranks that have left one yet."""
        keys = {rank: f"sign/{rank}" for rank in range(self.world) if rank != self.rank}
        written = {rank: json.loads(self.store.get(key)) for rank, key in keys.items() if self.store.check([key])}
        return {rank: Sign(**{**sign, "process": Process(**sign["process"])}) for rank, sign in written.items()}

    def fail(self, cause: str) -> str:
        """Names the cause of the job's end, and returns it: the first one to be named stays."""
        return str(self.store.compare_set("failure", "", cause).decode())

    def failure(self) -> str | None:
        return str(self.store.get("failure").decode()) if self.store.check(["failure"]) else None

    def told(self) -> None:
        """This rank has left its stacks."""
        self.store.set(f"told/{self.rank}", "")

    def wait_until_told(self, ranks: Collection[int], seconds: float) -> list[int]:
        """Until these have left their stacks, for so long at most; those that have not."""
        deadline = time.monotonic() + seconds
        while (left := [rank for rank in ranks if not self.store.check([f"told/{rank}"])]) and time.monotonic() < deadline:
            time.sleep(0.1)
        return left
