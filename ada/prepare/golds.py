"""Gold answers that the recipe's own reward function does not call right: no response to such a problem could ever be rewarded."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ada.prepare.journal import Journal
from ada.prepare.progress import Bar
from ada.ranks import Ranks
from ada.rewards.service import RewardService
from ada.sampling.collector import Stopped
from ada.types import Prompt

AT_ONCE = 1024  # problems between two entries in the journal
RIGHT, UNCHECKED = "right", "unchecked"  # the latter: the reward function has no way to write a response that gives the gold answer


def verify(
    prompts: Sequence[Prompt],
    rewards: RewardService,
    journal: Journal | None,
    known: dict[str, str],
    ranks: Ranks,
    stop: Callable[[], bool],
) -> dict[str, str]:
    """Of each problem, by prompt id: `right`, `wrong`, `unchecked`, or why there is no verdict. `known`: verdicts of an earlier call.

    Collective; raises Stopped, all ranks together.
    """
    verdicts = {prompt.id: known[prompt.id] for prompt in prompts if prompt.id in known}
    waiting = [prompt for prompt in prompts if prompt.id not in verdicts]
    with Bar("golds", len(prompts), len(verdicts), quiet=not ranks.first) as bar:
        for start in range(0, len(waiting), AT_ONCE):
            shares = ranks.gather((_verdicts(waiting[start : start + AT_ONCE][ranks.rank :: ranks.world], rewards), stop()))
            if any(stopped for _, stopped in shares):
                raise Stopped
            found = {id: verdict for share, _ in shares for id, verdict in share.items()}
            verdicts |= found
            if journal:
                journal.note_golds(found)
            bar.advance(len(found), f"{sum(not usable(verdict) for verdict in verdicts.values())} fail")
    return verdicts


def usable(verdict: str) -> bool:
    return verdict in (RIGHT, UNCHECKED)


def _verdicts(prompts: Sequence[Prompt], rewards: RewardService) -> dict[str, str]:
    responses = rewards.gold_responses([prompt.answer for prompt in prompts])
    found = {prompt.id: UNCHECKED for prompt, response in zip(prompts, responses, strict=True) if response is None}
    for prompt, response in zip(prompts, responses, strict=True):
        if response is not None:
            rewards.submit(("gold", prompt.id), response, prompt.answer)
    while len(found) < len(prompts):
        for key, verdict in rewards.poll(1.0):
            assert isinstance(key, tuple)
            found[key[1]] = verdict.failure or (RIGHT if verdict.right else "wrong")
    return found
