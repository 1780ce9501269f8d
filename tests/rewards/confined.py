"""Whether this machine can confine programs: what needs it is skipped elsewhere, as it is refused there."""

from __future__ import annotations

import pytest

from ada.rewards.sandbox import run as sandbox


def _missing() -> str:
    try:
        sandbox.check()
    except OSError as error:
        return str(error)
    return ""


MISSING = _missing()
needs_sandbox = pytest.mark.skipif(bool(MISSING), reason=MISSING or "programs can be confined here")
