"""The model of step times, against times worked out by hand. Lengths, verdicts and costs are small whole numbers."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest

from ada.cli import main
from ada.data.sources import DataError
from ada.recipe.errors import RecipeError
from ada.sampling.groups.all import All
from ada.sampling.profile import Profile
from ada.sampling.schedules.seq import Seq
from ada.sampling.schedules.uniform import Uniform
from ada.sampling.streaming import Streaming
from ada.sampling.windows import fixed
from ada.simulation.costs import DecodeCost, StartCost, UpdateCost
from ada.simulation.draws import Lengths
from ada.simulation.engine import SimulatedEngine
from ada.simulation.rounds import Rounds
from ada.simulation.samplers import Sampler, standard
from ada.simulation.setting import PAPER
from ada.simulation.steps import Job, simulate
from ada.types import Draw, Prompt

BALANCE = Seq(exit="balance", check_every=8, max_draws=32, positives=2)


def prompts(count):
    return [Prompt(f"p/{i}", (1,), "", "p", "") for i in range(count)]


def setting(**changes):
    """A step of decoding takes a second, however many draws run; updates take none."""
    plain = dataclasses.replace(
        PAPER, decode=DecodeCost.line(1.0, 0.0), update=UpdateCost(0.0, 0.0), lengths=Lengths("lognormal(9,0.5)", 99)
    )
    return dataclasses.replace(plain, **changes)


def collected(job, sampler, asked):
    found = []

    def collect():
        found[:] = job.collector.collect("step-1", asked, sampler.schedule, window=sampler.window)
        return tuple(found)

    return job.step(1, sampler, collect), found[0]


def test_the_engine_jumps_to_the_next_end_and_pays_for_each_step():
    """Two draws: 3 steps of 1 + 2/2 s; the other goes on alone: 2 steps of 1.5 s."""
    lengths = {0: 3, 1: 5, 2: 9}
    engine = SimulatedEngine(lambda draw: (lengths[draw.index], False), DecodeCost.line(1.0, 0.5), StartCost(), longest=9)
    (prompt,) = prompts(1)
    draws = [Draw(prompt, index, 0) for index in range(3)]
    engine.submit(draws[0])
    engine.submit(draws[1])
    assert [(r.draw, len(r.token_ids), r.finish_reason) for r in engine.step()] == [(0, 3, "stop")]
    assert engine.clock == 6.0
    assert [r.draw for r in engine.step()] == [1]
    assert engine.clock == 9.0 == engine.busy
    engine.submit(draws[2])
    engine.submit(draws[0])
    assert [r.draw for r in engine.step()] == [0]
    assert engine.abort([draws[2], draws[0]]) == 3  # tokens of the one that ran
    engine.submit(draws[2])  # as new: what was aborted does not end again
    assert [(r.draw, r.finish_reason) for r in engine.step()] == [(2, "length")]
    assert engine.clock == 9.0 + 6.0 + 9 * 1.5


def test_a_chain_of_rounds_takes_as_many_lengths_as_rounds():
    """Never right: 4 rounds of 8. 7 tokens each: 28 s in rounds, barrier or not, 14 s with W = 16 and 7 s with W = 32."""
    job = lambda: Job(setting(slots=10**6), lambda draw: (7, False), gpus=2, seed=0)  # noqa: E731
    of = lambda window, schedule=BALANCE: collected(job(), Sampler("", schedule, All(), None, window), prompts(6))[0]  # noqa: E731
    assert [of(None).seconds, of(None, Rounds(BALANCE)).seconds] == [28.0, 28.0]
    assert [of(fixed(16)).seconds, of(fixed(32)).seconds] == [14.0, 7.0]
    assert (of(None).responses, of(None).generated_tokens, of(fixed(32)).idle) == (6 * 32, 6 * 32 * 7, 0.0)


def test_the_barrier_alone_makes_a_rank_wait():
    """Two prompts, a rank each. Rounds of one are 5 and 1, then 1 and 5 tokens: 6 s without the barrier, 10 s with it, 4 idle."""
    lengths = {("p/0", 0): 5, ("p/0", 1): 1, ("p/1", 0): 1, ("p/1", 1): 5}
    schedule = Seq(exit="balance", check_every=1, max_draws=2, positives=1)
    for waits, seconds, idle in ((False, 6.0, 0.0), (True, 10.0, 0.4)):
        job = Job(setting(), lambda draw: (lengths[draw.prompt.id, draw.index], False), gpus=2, seed=0)
        found, _ = collected(job, Sampler("", Rounds(schedule) if waits else schedule, All(), None), prompts(2))
        assert (found.seconds, found.idle) == (seconds, pytest.approx(idle))


def test_a_rank_that_is_done_takes_the_next_prompt():
    """5 tokens for the first prompt, 1 for each of three others: one rank draws the first, the other all the rest."""
    job = Job(setting(slots=1), lambda draw: (5 if draw.prompt.id == "p/0" else 1, False), gpus=2, seed=0)
    found, _ = collected(job, Sampler("", Uniform(draws=1), All(), None), prompts(4))
    assert found.seconds == 5.0
    assert found.idle == pytest.approx(2 / 10)  # of 2 ranks' 10 s, the other's last two


def test_verdicts_that_take_time_leave_the_engine_idle():
    """4 rounds of 7 s, and 3 s until the verdicts after each."""
    job = Job(setting(verdict_seconds=3.0), lambda draw: (7, False), gpus=1, seed=0)
    found, _ = collected(job, Sampler("", BALANCE, All(), None), prompts(1))
    assert (found.seconds, found.idle) == (40.0, pytest.approx(12 / 40))


def test_the_update_is_divided_over_the_gpus():
    job = Job(setting(update=UpdateCost(2.0, 0.5)), lambda draw: (6, True), gpus=3, seed=0)
    found, _ = collected(job, Sampler("", Uniform(draws=4), All(), None), prompts(5))
    assert (found.trained_tokens, found.update_seconds) == (5 * 4 * 6, 2.0 + 0.5 * 120 / 3)
    again, _ = collected(job, Sampler("", Uniform(draws=4), All(), None, replayed=1.5), prompts(5))
    assert (again.trained_tokens, again.update_seconds) == (300.0, 2.0 + 0.5 * 300 / 3)


def test_every_way_to_order_draws_leaves_the_same_pools():
    """Of uniform pass rates, which are met: half of the draws are right."""
    law = lambda draw: (1 + draw.seed % 50, draw.seed % 97 < 97 * (int(draw.prompt.id[2:]) % 10) / 10)  # noqa: E731
    pools = [collected(Job(setting(), law, gpus=3, seed=1), sampler, prompts(40))[1] for sampler in standard()[2:]]
    assert len({pool.drawn for pool in pools[0]}) > 1
    for others in pools[1:]:
        for one, other in zip(pools[0], others, strict=True):
            assert [a.response for a in one.attempts] == [a.response for a in other.attempts]


def test_a_draw_that_is_interrupted_goes_on_from_its_last_token():
    """5 tokens: 3 under version 0, then the rest of a draw of 3 tokens; what is read again costs 2 s a token, after 1 s to begin."""
    (prompt,) = prompts(1)
    engine = SimulatedEngine(lambda draw: (3 + 2 * draw.index, True), DecodeCost.line(1.0, 0.0), StartCost(0.0, 1.0, 2.0), longest=9)
    draws = [Draw(prompt, index, 0) for index in range(2)]
    for draw in draws:
        engine.submit(draw)
    assert [r.draw for r in engine.step()] == [0] and engine.clock == 2.0 + 3.0
    (rest,) = engine.interrupt([draws[1]])
    assert (len(rest.begun), rest.begun.versions) == (3, ((0, 3),))
    engine.weight_version = 1
    engine.submit(rest)
    (response,) = engine.step()
    assert engine.clock == 5.0 + (1.0 + 3 * 2.0) + 2.0
    assert (len(response.token_ids), response.versions) == (5, ((0, 3), (1, 2)))


def test_a_step_in_which_draws_begin_costs_once_and_for_each():
    """Three begin together: 4 + 3 s, then their 2 steps; one alone: 4 + 1 s, and 2 steps."""
    engine = SimulatedEngine(lambda draw: (2, True), DecodeCost.line(1.0, 0.0), StartCost(per_step=4.0, per_draw=1.0), longest=9)
    (prompt,) = prompts(1)
    for index in range(3):
        engine.submit(Draw(prompt, index, 0))
    assert len(engine.step()) == 3 and engine.clock == 4.0 + 3.0 + 2.0
    engine.submit(Draw(prompt, 3, 0))
    assert len(engine.step()) == 1 and engine.clock == 9.0 + 5.0 + 2.0


def test_streaming_shortens_the_chain_and_counts_what_is_old():
    """Rounds of one draw of 1 to 40 tokens, at most 4: a step of 20 prompts waits for the longest chain unless 40 are open."""
    schedule = Seq(exit="balance", check_every=1, max_draws=4, positives=1)
    given = setting(prompts=20, lengths=Lengths("lognormal(12,0.8)", 40))
    plain = Sampler("", schedule, All(), None)
    on_policy, same, streaming = (
        simulate(given, dataclasses.replace(plain, streaming=how), gpus=1, steps=8)
        for how in (None, Streaming(open=1.0, max_staleness=9), Streaming(open=2.0, max_staleness=9))
    )
    assert same.seconds == pytest.approx(on_policy.seconds, rel=0.2) and same.staleness == on_policy.staleness == 0.0
    assert streaming.seconds < 0.7 * on_policy.seconds
    assert 0 < streaming.staleness < 3 and streaming.dropped == 0
    few = simulate(given, dataclasses.replace(plain, streaming=Streaming(open=2.0, max_staleness=1)), gpus=1, steps=8)
    assert few.dropped > 0 and few.staleness <= 1
    assert streaming.trained_tokens == pytest.approx(on_policy.trained_tokens, rel=0.25)  # 20 prompts each, of other draws


def test_draws_follow_the_pass_rates_and_lengths_that_are_given():
    given = setting(profile=Profile(np.array([0.25]), np.array([1.0])), lengths=Lengths("lognormal(650,0.7)", 2048))
    found = simulate(given, Sampler("", Uniform(draws=64), All(), None), gpus=1, steps=1)
    assert found.generated_tokens / found.responses == pytest.approx(given.lengths.mean, rel=0.03)  # 4,096 draws of deviation 520: 1 %
    assert given.lengths.quantiles[len(given.lengths.quantiles) // 2] == 650


def test_the_preset_has_the_step_times_of_the_paper():
    """GRPO-n4 102 s and rounds with a barrier 290 s, which it was made for; Seq-pos 228 s, which it was not, within 15 %."""
    found = {s.label: simulate(PAPER, s, gpus=8, steps=1).seconds for s in standard() if s.label in ("GRPO-n4", "rounds of 8, barrier")}
    pos = Rounds(Seq(exit="pos", check_every=8, max_draws=32, positives=1))
    balanced = standard()[2]
    assert found["GRPO-n4"] == pytest.approx(102, rel=0.03)
    assert found["rounds of 8, barrier"] == pytest.approx(290, rel=0.03)
    assert simulate(PAPER, dataclasses.replace(balanced, schedule=pos), gpus=8, steps=1).seconds == pytest.approx(228, rel=0.15)


def test_costs_lie_on_lines_between_the_points():
    cost = DecodeCost.read("10:2,20:3,40:9")
    assert [cost(draws) for draws in (1, 10, 15, 30, 50, 2000)] == [2.0, 2.0, 2.5, 6.0, 12.0, 9 + 0.3 * 1960]
    assert DecodeCost.read("0.5+0.25b")(6) == 2.0
    for wrong in ("1:2", "1:2,1:3", "fast", "1:0,2:1"):
        with pytest.raises(RecipeError, match="--decode is"):
            DecodeCost.read(wrong)


def test_lengths_of_a_file(tmp_path):
    file = tmp_path / "lengths.txt"
    file.write_text("10\n10\n30\n")
    assert Lengths(str(file), 20).quantiles[0] == 10 and Lengths(str(file), 20).quantiles[-1] == 20
    with pytest.raises(DataError, match="lognormal"):
        _ = Lengths("normal(3)", 20).quantiles


def run(capsys, *arguments):
    with pytest.raises(SystemExit) as ended:
        main(["simulate", "steps", *arguments])
    return ended.value.code or 0, *capsys.readouterr()


def test_the_command_gives_figures_for_programs(capsys):
    """One prompt a step and one second a decoding step: GRPO-n4 takes the longest of 4 draws of exactly 12 tokens."""
    arguments = ("micro_grpo_n8", "--gpus", "1,2", "--prompts", "1", "--steps", "1", "--samplers", "n16", "--json")
    code, out, _ = run(
        capsys, *arguments, "--decode", "1+0.0b", "--lengths", "lognormal(12,0)", "--fixed-seconds", "3", "--token-seconds", "0"
    )
    found = json.loads(out)
    assert code == 0
    assert set(found["gpus"]["2"]) == {"GRPO-n4", "GRPO-n16", "micro_grpo_n8"}
    assert found["gpus"]["1"]["GRPO-n4"]["seconds"] == 15.0
    assert found["gpus"]["1"]["micro_grpo_n8"]["generated_tokens"] == 8 * 12
    assert found["inputs"]["update"] == {"fixed": 3.0, "per_token": 0.0}


def test_the_command_draws_a_figure(capsys, tmp_path):
    """A line for each sampler in each panel, and a mark for each number of GPUs."""
    file = tmp_path / "steps.svg"
    asked = ("--gpus", "1,2", "--prompts", "1", "--steps", "1", "--samplers", "n16", "--plot", str(file))
    code, out, _ = run(capsys, *asked)
    drawn = file.read_text()
    assert code == 0 and f"{file}: step times and idle shares" in out
    assert all(f"<!-- {text} -->" in drawn for text in ("GRPO-n4", "GRPO-n16", "GPUs", "step time, of GRPO-n4's"))


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("--plot", "steps.txt"), "--plot is 'steps.txt'; its ending must be one of"),
        (("--gpus", "0"), "--gpus is '0'"),
        (("--steps", "0"), "--steps is 0"),
        (("--slots", "0"), "--slots is 0; it must be at least 1"),
        (("--decode", "x"), "--decode is 'x'"),
        (("--samplers", "x"), "--samplers is 'x'; the names to choose from: GRPO-n4"),
        (("--lengths", "x"), "lengths 'x'"),
        (("seed=1",), "no recipe is named"),
    ],
)
def test_the_command_says_what_is_wrong_and_exits_with_2(capsys, arguments, complaint):
    code, _, err = run(capsys, *arguments)
    assert code == 2 and complaint in err and "Traceback" not in err
