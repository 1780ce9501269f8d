from __future__ import annotations

import hashlib
from collections.abc import Sequence

from ada.types import Prompt


def digest_of(prompts: Sequence[Prompt]) -> str:
    """The same for the same prompts in the same order: their ids, tokens and answers."""
    digest = hashlib.sha256()
    for prompt in prompts:
        digest.update(repr((prompt.id, prompt.token_ids, prompt.answer)).encode("utf-8", "backslashreplace"))
    return digest.hexdigest()
