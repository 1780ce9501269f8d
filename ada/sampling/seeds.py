"""Seeds by name: each is a hash of what it is for, so it does not depend on rank, order, batch or world size."""

from __future__ import annotations

from hashlib import blake2b


def seed_of(run_seed: int, *names: str | int) -> int:
    """63 bits from the run's seed and a name, for example ("draw", step, prompt id, draw index)."""
    text = "\x1f".join(str(part) for part in (run_seed, *names))
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "big") >> 1
