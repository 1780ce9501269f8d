"""Every selection keeps the contract; each chooses what its paper says."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from ada.data.selection.curriculum import Curriculum
from ada.data.selection.greso import GRESO
from ada.data.selection.mopps import MoPPS
from ada.data.selection.shuffle import Shuffle
from tests.sampling.pools import pool, prompt

PROMPTS = [prompt(f"test/{i}") for i in range(10)]
SELECTIONS = [Shuffle(), MoPPS(), GRESO(), Curriculum()]
every_selection = pytest.mark.parametrize("selection", SELECTIONS, ids=lambda s: s.name)


def outcome(prompt_id: str) -> str:
    """Prompt i of 10 is right i times of 9; 0 and 9 teach nothing."""
    right = int(prompt_id.split("/")[1])
    return "R" * right + "W" * (9 - right)


def step(selector, count=3, refill=2):
    """What the loop does: some prompts, some more beside them, then what was seen of them all."""
    chosen = [p.id for p in selector.next(count)]
    chosen += [p.id for p in selector.next(refill, beside=set(chosen))]
    selector.learn([pool(outcome(i), id=i) for i in chosen])
    return chosen


@every_selection
def test_a_step_never_has_a_prompt_twice_and_never_too_few(selection):
    selector = selection.start(PROMPTS, seed=3)
    for _ in range(40):
        assert len(set(step(selector, 4, 3))) == 7
    assert len({p.id for p in selector.next(10)}) == 10


@every_selection
def test_a_step_beyond_all_prompts_is_refused(selection):
    selector = selection.start(PROMPTS, seed=3)
    with pytest.raises(ValueError, match="asks for 11 different prompts, and there are 10"):
        selector.next(9, beside={"test/1", "test/2"})


@every_selection
@pytest.mark.parametrize("before", [0, 1, 7])
def test_a_saved_state_has_the_same_future(selection, before):
    whole, resumed = selection.start(PROMPTS, seed=5), selection.start(PROMPTS, seed=5)
    for _ in range(before):
        step(whole)
    resumed.load_state_dict(json.loads(json.dumps(whole.state_dict())))
    assert [step(resumed) for _ in range(12)] == [step(whole) for _ in range(12)]


@every_selection
def test_a_state_is_a_copy(selection):
    selector = selection.start(PROMPTS, seed=5)
    step(selector)
    state = selector.state_dict()
    before = json.dumps(state)
    resumed = selection.start(PROMPTS, seed=5)
    resumed.load_state_dict(state)
    for _ in range(5):
        step(selector), step(resumed)
    assert json.dumps(state) == before


@every_selection
def test_seeds_differ_and_repeat(selection):
    def first(seed):
        selector = selection.start(PROMPTS, seed)
        return [step(selector) for _ in range(3)]

    assert first(1) == first(1) != first(2)


@every_selection
def test_failures_to_score_teach_nothing(selection):
    selector = selection.start(PROMPTS, seed=1)
    state = json.dumps(selector.state_dict())
    selector.learn([pool("FFF", id="test/1"), pool("", id="test/2")])
    assert json.dumps(selector.state_dict()) == state


def test_shuffle_gives_each_prompt_once_an_epoch():
    selector = Shuffle().start(PROMPTS, seed=0)
    epochs = [[p.id for p in selector.next(10)] for _ in range(3)]
    assert all(len(set(epoch)) == 10 for epoch in epochs) and epochs[0] != epochs[1] != epochs[2]


def test_mopps_posterior_by_hand():
    selector = MoPPS(discount=0.5, prior_right=1, prior_wrong=3).start(PROMPTS, seed=0)
    selector.learn([pool("RRRW", id="test/4")])
    selector.learn([pool("RWF", id="test/4")])
    # a: 1 -> 0.5 + 0.5 + 3 = 4 -> 2 + 0.5 + 1 = 3.5; b: 3 -> 1.5 + 1.5 + 1 = 4 -> 2 + 1.5 + 1 = 4.5
    belief = selector.counts.believe([PROMPTS[4]])[0]
    assert (belief.mean * (belief.strength + 4), (1 - belief.mean) * (belief.strength + 4)) == pytest.approx((3.5, 4.5))


def test_mopps_prefers_the_target():
    for target, wanted in ((0.5, {"test/4", "test/5"}), (1.0, {"test/9", "test/8"})):
        selector = MoPPS(target=target, discount=1.0).start(PROMPTS, seed=0)
        selector.learn([pool(outcome(p.id) * 200, id=p.id) for p in PROMPTS])  # so much seen that a draw is the mean, nearly
        assert {p.id for p in selector.next(2)} == wanted


def test_mopps_tries_what_it_knows_nothing_about():
    selector = MoPPS(discount=1.0).start(PROMPTS[:2], seed=0)
    selector.learn([pool("RRWWRRWWRW", id="test/0")])  # about 1/2; test/1 is Beta(1, 1), nearer to 1/2 in some of the draws only
    first = Counter(selector.next(1)[0].id for _ in range(300))
    assert 30 < first["test/1"] < 130


def test_greso_skips_with_probability_one_minus_e_to_the_z():
    """Prompt 0 of two: series of 2, e = 0.5, so it comes in a quarter of the epochs."""
    selector = GRESO(step=0).start(PROMPTS[:2], seed=7)
    for _ in range(2):
        selector.learn([pool("WWW", id="test/0"), pool("RW", id="test/1")])
    came = Counter(selector.next(1)[0].id for _ in range(2000))
    # Each epoch has prompt 1 once and prompt 0 in a quarter: 1 of 5 are prompt 0. Standard error of that share: below 0.009.
    assert came["test/0"] / 2000 == pytest.approx(0.2, abs=0.03)


def test_greso_forgets_a_series_that_ends():
    selector = GRESO(exploration=0.0, minimum=0.0, step=0).start(PROMPTS[:4], seed=7)
    flat = [pool("RR", id="test/0"), pool("WW", id="test/1")]
    selector.learn(flat + [pool("RW", id="test/2"), pool("RW", id="test/3")])
    for _ in range(5):
        assert {p.id for p in selector.next(2)} == {"test/2", "test/3"}  # skipped for sure
    selector.learn([pool("WW", id="test/1")])
    assert [p.id for p in selector.next(4)][2:] == ["test/0", "test/1"]  # never too few: those skipped, the shortest series first
    selector.learn([pool("RW", id="test/1")])
    assert "test/1" in {p.id for p in selector.next(3)} and "test/0" not in {p.id for p in selector.next(3)}


def test_greso_moves_its_exploration_by_the_shares_of_easy_and_hard():
    selector = GRESO(exploration=0.5, step=0.1, easy_target=0.5, hard_target=0.25, minimum=0.35, maximum=0.65).start(PROMPTS, seed=7)
    pools = [pool(v, id=f"test/{i}") for i, v in enumerate(["RR", "WW", "RW", "RW"])]  # a quarter easy, a quarter hard
    selector.next(10)
    selector.learn(pools)
    assert selector.exploration == {"easy": 0.5, "hard": 0.5}  # the first epoch
    selector.next(10)
    selector.learn(pools)
    assert selector.exploration == pytest.approx({"easy": 0.6, "hard": 0.4})
    selector.learn(pools)
    assert selector.exploration == pytest.approx({"easy": 0.65, "hard": 0.35})


def test_curriculum_moves_its_target_with_the_mean_reward():
    selector = Curriculum(start_target=0.3, step=0.5, sensitivity=2.0, reward_target=0.5).start(PROMPTS, seed=0)
    selector.learn([pool("RRRR", id="test/0"), pool("RRWW", id="test/1")])  # R = 0.75: 0.3 + 0.5 tanh(0.5)
    assert selector.target == pytest.approx(0.3 + 0.5 * 0.46211716)
    selector.learn([pool("WWWW", id="test/2")])  # 0.531 - 0.5 tanh(1) = 0.150
    assert selector.target == pytest.approx(0.53105858 - 0.5 * 0.76159416)
    selector.learn([pool("WWWW", id="test/2")])
    assert selector.target == 0.0


@pytest.mark.parametrize(("target", "wanted"), [(0.0, "test/9"), (0.3, "test/6"), (1.0, "test/0")])
def test_curriculum_takes_the_nearest_difficulty(target, wanted):
    selector = Curriculum(start_target=target, step=1e-9, discount=1.0).start(PROMPTS, seed=0)
    selector.learn([pool(outcome(p.id) * 200, id=p.id) for p in PROMPTS])
    assert selector.next(1)[0].id == wanted


def test_curriculum_breaks_ties_at_random():
    selector = Curriculum().start(PROMPTS, seed=0)
    assert len({selector.next(1)[0].id for _ in range(60)}) == 10
