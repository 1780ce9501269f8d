"""Advantages, objectives and their product against golden values."""

from __future__ import annotations

import dataclasses
import math

import pytest
import torch

from ada.sampling.grouping import group_of
from ada.sampling.groups.all import All
from ada.sampling.groups.balanced import Balanced
from ada.trainer.advantages.centred import Centred
from ada.trainer.advantages.maxrl import MaxRL
from ada.trainer.advantages.ngrpo import NGRPO
from ada.trainer.advantages.rlzvp import RLZVP
from ada.trainer.advantages.signed import Signed
from ada.trainer.batching import pack
from ada.trainer.credit import credit, to_sequences
from ada.trainer.entropy_guidance import guided
from ada.trainer.ledger import Ledger, ledger
from ada.trainer.objectives.linear import Linear
from ada.trainer.objectives.log import Log
from ada.trainer.objectives.power import Power
from ada.types import Attempt, Group, PassRate, Prompt, Response, Sequence
from tests.sampling.pools import pool


def group(rewards, pass_rate=0.25, mean_reward=None, weights=None, belief=None, name="p") -> Group:
    attempts = tuple(Attempt(Response(name, i, (7, i), (-0.5, -0.25), "stop", 0), "", r, r > 0.5) for i, r in enumerate(rewards))
    mean = pass_rate if mean_reward is None else mean_reward
    return Group(Prompt(name, (1, 2), "", "s", ""), attempts, weights or (1.0,) * len(attempts), pass_rate, mean, 8, belief)


@pytest.mark.parametrize(
    ("method", "rewards", "expected"),
    [
        (Centred(baseline="group"), [1, 0, 0, 0], [0.75, -0.25, -0.25, -0.25]),
        (Centred(baseline="group"), [1, 1, 1, 0], [0.25, 0.25, 0.25, -0.75]),
        (Centred(baseline="group", scale="std"), [1, 0, 0, 0], [1.5, -0.5, -0.5, -0.5]),  # sample std 0.5
        (Centred(baseline="group", scale="std"), [1, 1, 1, 0], [0.5, 0.5, 0.5, -1.5]),
        (Centred(baseline="group", scale="std", epsilon=0.5), [1, 0, 0, 0], [0.75, -0.25, -0.25, -0.25]),
        (Centred(baseline="leave_one_out"), [1, 0, 0, 0], [1, -1 / 3, -1 / 3, -1 / 3]),
        (Centred(baseline="pool"), [1, 1, 0, 0], [0.875, 0.875, -0.125, -0.125]),  # pool mean 0.125
        (Centred(baseline="pool"), [0, 0], [-0.125, -0.125]),
        (Centred(baseline="belief"), [1, 0], [0.7, -0.3]),
        (MaxRL(), [1, 0], [7, -1]),  # pool mean 1/8
        (MaxRL(baseline="group"), [1, 0, 0, 0], [3, -1, -1, -1]),
        (MaxRL(baseline="group"), [1, 1, 1, 0], [1 / 3, 1 / 3, 1 / 3, -1]),
        (NGRPO(), [1, 0, 0, 0, 0, 0, 0, 0], [7 / 9 / (7 / 36) ** 0.5, *[-2 / 9 / (7 / 36) ** 0.5] * 7]),  # the paper's 1.76 and -0.50
        (NGRPO(), [0, 0, 0], [-0.5, -0.5, -0.5]),  # with the virtual 1: mean 1/4, std 1/2
        (NGRPO(), [0], [-(0.5**0.5)]),
        (Signed(), [1, 0, 0], [1, -1, -1]),
        (RLZVP(), [1, 0, 0, 0], [1.5, -0.5, -0.5, -0.5]),  # both outcomes: GRPO's
        (RLZVP(otherwise=Centred()), [0, 0], [-0.125, -0.125]),  # the pool has both outcomes, though the group has not
        (NGRPO(max_reward=2.0), [0, 0, 0], [-0.5, -0.5, -0.5]),
    ],
)
def test_golden_values_V03(method, rewards, expected):
    g = group(rewards, pass_rate=0.125, belief=PassRate(0.3, 5))
    assert method.advantages(g) == pytest.approx(expected, rel=1e-4)


def test_statistics_are_taken_along_the_group_on_a_square_batch_V02():
    rows = [Centred(baseline="group").advantages(group(r)) for r in ([1, 2], [3, 5])]
    assert rows == [[-0.5, 0.5], [-1.0, 1.0]]


@pytest.mark.parametrize("scale", ["none", "std"])
@pytest.mark.parametrize("baseline", ["group", "leave_one_out"])
@pytest.mark.parametrize("rewards", [[1, 1, 1], [0.1, 0.1, 0.1], [0.7] * 7, [1], []])
def test_equal_rewards_have_exactly_no_advantage(baseline, scale, rewards):
    assert Centred(baseline=baseline, scale=scale).advantages(group(rewards)) == [0.0] * len(rewards)


@pytest.mark.parametrize("method", [Centred(), Centred(scale="std"), MaxRL()])
@pytest.mark.parametrize(("reward", "drawn"), [(0.1, 8), (0.2, 3), (0.7, 7), (0.05, 32)])
def test_a_pool_of_equal_rewards_has_exactly_no_credit(method, reward, drawn):
    """Part of a reward may be given to wrong answers too. In floats, 8 times 0.1 over 8 is not 0.1."""
    equal = dataclasses.replace(pool("W" * drawn), attempts=[dataclasses.replace(a, reward=reward) for a in pool("W" * drawn).attempts])
    assert to_sequences([group_of(equal, All(), None, 0)], method, Linear(), "drop") == []


@pytest.mark.parametrize("method", [MaxRL(), MaxRL(baseline="group"), NGRPO()])
def test_what_is_always_right_has_no_advantage(method):
    assert method.advantages(group([1, 1, 1], pass_rate=1.0)) == [0.0] * 3
    assert method.advantages(group([])) == []


@pytest.mark.parametrize("baseline", ["pool", "group"])
def test_maxrl_has_nothing_to_say_where_nothing_is_right(baseline):
    assert MaxRL(baseline=baseline).advantages(group([0, 0], pass_rate=0.0)) == [0.0, 0.0]


def test_maxrl_averages_the_right_responses_scores():
    """Its estimator is the mean score over the right responses less the mean over all (arXiv 2602.02710): 1/n_right - 1/n each, or -1/n."""
    n, rewards = 5, [1, 0, 1, 0, 0]
    weights = [a / n for a in MaxRL(baseline="group").advantages(group(rewards))]
    assert weights == pytest.approx([r / 2 - 1 / n for r in rewards])


def test_rewards_outside_a_methods_range_are_named():
    with pytest.raises(ValueError, match="prompt p has a reward of -1"):
        MaxRL().advantages(group([1, -1]))
    with pytest.raises(ValueError, match="max_reward is 1.0, and prompt p has a reward of 2"):
        NGRPO().advantages(group([0, 2]))


def test_a_missing_belief_is_named():
    with pytest.raises(ValueError, match="prompt p has none.*sampling.passrate"):
        Centred(baseline="belief").advantages(group([1, 0]))


@pytest.mark.parametrize(
    ("objective", "pass_rate", "weight"),
    [
        (Linear(), 0.0, 1),
        (Log(floor=0.05), 0.25, 4),
        (Log(floor=0.05), 0.0, 20),
        (Power(alpha=0.5), 0.25, 1),  # 0.5 / sqrt(0.25)
        (Power(alpha=0.5, floor=0.04), 0.0, 2.5),
        (Power(alpha=2.0), 0.25, 0.5),
        (Power(alpha=1.0), 0.25, 1),
    ],
)
def test_objective_weight_is_the_derivative(objective, pass_rate, weight):
    assert objective.weight(pass_rate) == pytest.approx(weight)


@pytest.mark.parametrize(("objective", "f"), [(Log(), math.log), (Power(alpha=0.3), lambda p: p**0.3)])
def test_objective_weight_agrees_with_a_difference_quotient(objective, f):
    assert objective.weight(0.4) == pytest.approx((f(0.4 + 1e-6) - f(0.4 - 1e-6)) / 2e-6, rel=1e-6)


def test_credit_is_advantage_times_objective_times_importance():
    g = group([1, 0], pass_rate=0.25, weights=(0.5, 1.5))
    assert credit(g, Centred(), Log()) == pytest.approx([0.75 * 4 * 0.5, -0.25 * 4 * 1.5])


def test_sequences_carry_their_group_and_zero_variance_groups_are_kept_or_dropped():
    groups = [group([1, 1], pass_rate=1.0, name="easy"), group([1, 0], name="mixed")]
    kept = to_sequences(groups, Centred(), Linear(), "keep")
    dropped = to_sequences(groups, Centred(), Linear(), "drop")
    assert [(s.group, s.advantage) for s in kept] == [(0, 0), (0, 0), (1, 0.75), (1, -0.25)]
    assert dropped == kept[2:]
    assert to_sequences([group([0, 0], pass_rate=0.0)], NGRPO(), Linear(), "drop")[0].advantage < 0  # all wrong, and yet a signal
    assert [s.group for s in to_sequences(groups, Signed(), Linear(), "drop")] == [0, 0, 1, 1]
    assert [s.group for s in to_sequences(groups, Signed(), Linear(), "reject")] == [1, 1]  # Reinforce-Rej
    assert kept[1].prompt_ids == (1, 2)
    assert kept[1].response_ids == (7, 1)
    assert kept[1].sampler_logprobs == (-0.5, -0.25)


@pytest.mark.parametrize(("version", "stale"), [(5, 0), (6, 2), (8, 5), (9, 6)])
def test_tokens_of_older_weights_are_stale(version, stale):
    """Two tokens by weights 5, three by 7, the last one by 8."""
    mixed = group([1, 0])
    attempt = mixed.attempts[0]
    response = dataclasses.replace(attempt.response, token_ids=(3,) * 6, logprobs=(-1.0,) * 6, weight_version=8, earlier=((5, 2), (7, 3)))
    carried = dataclasses.replace(mixed, attempts=(dataclasses.replace(attempt, response=response), mixed.attempts[1]))
    assert response.versions == ((5, 2), (7, 3), (8, 1))
    first, _ = to_sequences([carried], Centred(), Linear(), "keep", version=version)
    (batch,) = pack([first], 0, 1, 100, 100)
    assert first.stale == stale
    assert batch.stale_RL[batch.mask_RL].tolist() == [True] * stale + [False] * (6 - stale) and not batch.stale_RL[~batch.mask_RL].any()


@pytest.mark.parametrize("zero_variance", ["keep", "drop", "reject"])
def test_a_step_without_credit_has_no_sequences_A06(zero_variance):
    groups = [group([1, 1], pass_rate=1.0), group([0, 0], pass_rate=0.0), group([], pass_rate=math.nan)]
    assert to_sequences(groups, Centred(), Linear(), zero_variance) == []


def test_rlzvp_marks_what_its_tokens_share_by_entropy():
    groups = [group([1, 1], pass_rate=1.0), group([0, 0], pass_rate=0.0), group([1, 0])]
    found = to_sequences(groups, RLZVP(alpha=0.2), Linear(), "drop")
    assert [(s.group, s.advantage, s.by_entropy) for s in found[:4]] == [(0, 0.2, True)] * 2 + [(1, -0.2, True)] * 2
    assert not any(s.by_entropy for s in found[4:]) and len(found) == 6


def test_tokens_share_by_entropy():
    """Two packed responses, of 3 and 2 tokens: all right, alpha H; all wrong, -alpha (max H - H), each within its own response."""
    items = [Sequence((1,), (2, 3, 4), (0.0,) * 3, 0.1, 0, True), Sequence((1,), (2, 3), (0.0,) * 2, -0.1, 1, True)]
    items.append(Sequence((1,), (2,), (0.0,), 0.7, 2))
    (batch,) = pack(items, 0, 1, 100, 100)
    entropy = torch.full(batch.mask_RL.shape, 9.0).masked_scatter(batch.mask_RL, torch.tensor([1.0, 0.5, 2.0, 0.25, 1.5, 3.0]))
    after = guided(batch, entropy)
    assert after.advantages_RL[batch.mask_RL].tolist() == pytest.approx([0.1, 0.05, 0.2, -0.125, 0.0, 0.7])
    assert not after.advantages_RL[~batch.mask_RL].any()
    plain = pack(items[2:], 0, 1, 100, 100)[0]
    assert guided(plain, torch.ones(plain.mask_RL.shape)) is plain


class TestLedger:
    POOLS = [pool("RRWF", id="a"), pool("WWWWF", id="b"), pool("RWW", id="c")]

    def groups(self):
        return [group_of(p, Balanced(), 2, seed=0) for p in self.POOLS]

    @pytest.mark.parametrize(("zero_variance", "trained", "dropped"), [("keep", 6, 0), ("drop", 4, 2)])
    def test_every_draw_is_in_one_place_A05(self, zero_variance, trained, dropped):
        groups = self.groups()
        sequences = to_sequences(groups, Centred(), Linear(), zero_variance)
        entry = ledger(self.POOLS, groups, sequences, trained)
        assert entry == Ledger(drawn=12, trained=trained, set_aside=4, dropped=dropped, failed=2)

    def test_a_lost_or_doubled_draw_ends_the_run_A05(self):
        groups = self.groups()
        sequences = to_sequences(groups, Centred(), Linear(), "keep")
        with pytest.raises(RuntimeError, match="lost or counted twice.*drawn=12, trained=5"):
            ledger(self.POOLS, groups, sequences, len(sequences) - 1)
        groups[0] = dataclasses.replace(groups[0], attempts=groups[0].attempts[:1] * 2)
        with pytest.raises(RuntimeError, match="lost or counted twice"):
            ledger(self.POOLS, groups, to_sequences(groups, Centred(), Linear(), "keep"), 6)
