"""`ada doctor`: is this machine ready for ada, and if not, what mends it?"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ada.doctor import Finding
from ada.doctor.machine import extension_locks, gpus, room, tools, wandb_key
from ada.doctor.packages import engine, packages, python
from ada.doctor.step import tiny_step

CHECKS: tuple[Callable[[], Iterable[Finding]], ...] = (
    python,
    packages,
    engine,
    gpus,
    tools,
    room,
    extension_locks,
    wandb_key,
    tiny_step,
)


def doctor(checks: Iterable[Callable[[], Iterable[Finding]]] = CHECKS) -> int:
    """0: all is well, 1: something is not."""
    bad = 0
    for check in checks:
        for finding in _findings(check):
            bad += finding.bad
            print(f"{'FAULT' if finding.bad else 'ok':<6} {finding.what}", flush=True)
            if finding.fix:
                print(f"       fix: {finding.fix}", flush=True)
    print("\nAll is well." if not bad else f"\n{bad} {'fault' if bad == 1 else 'faults'}.", flush=True)
    return 1 if bad else 0


def _findings(check: Callable[[], Iterable[Finding]]) -> Iterable[Finding]:
    """A check that breaks is a finding, too: the others go on."""
    try:
        return list(check())
    except Exception as error:
        return [Finding(f"{check.__name__} could not be checked ({type(error).__name__}: {error})", "make install, then try again")]
