"""The stages of a preparation, each by itself: gold answers with real reward workers, draws with a stand-in engine, table and report."""

from __future__ import annotations

from ada.data.sources.parquet import Parquet
from ada.prepare.draws import draw
from ada.prepare.golds import usable, verify
from ada.prepare.journal import Drawn, Journal
from ada.prepare.report import Findings, histogram, write_report
from ada.prepare.table import write_table
from ada.ranks import Ranks
from ada.rewards.config import Reward
from ada.rewards.service import RewardService, Verdict
from ada.sampling.profile import read_profile
from ada.types import PassRate, Prompt
from tests.sampling.stand_in import StandInEngine, StandInRewards, collector, mixed, prompts

RESULTS = [Drawn("set/a", 1, 3, 0, 2, 40), Drawn("set/b", 0, 4, 0, 0, 40), Drawn("set/c", 1, 1, 2, 0, 40), Drawn("set/d", 0, 0, 4, 0, 40)]


def problems_of(*answers):
    return [Prompt(f"set/{i}", (1,), answer, "set", "?") for i, answer in enumerate(answers)]


def test_golds_that_the_reward_function_does_not_call_right(tmp_path):
    """What stands behind #### is GSM8K's answer; a formula that breaks off is no answer."""
    golds = problems_of("42", "\\boxed{7}", "Two and two are four.\n#### 4", "\\frac{1}{")
    rewards = RewardService(Reward(function="ada.rewards.math:score", workers=1))
    journal = Journal(tmp_path / "journal.jsonl", {})
    try:
        found = verify(golds, rewards, journal, {"set/0": "timeout"}, Ranks(), lambda: False)
    finally:
        rewards.close()
        journal.close()
    assert found == {"set/0": "timeout", "set/1": "right", "set/2": "right", "set/3": "unreadable_gold"}  # the first: as known
    assert journal.golds == {id: verdict for id, verdict in found.items() if id != "set/0"}


def test_golds_that_nobody_can_write_a_response_for_stay():
    class Rewards:
        def gold_responses(self, answers):
            return [None if answer == "tests" else answer for answer in answers]

        def submit(self, key, response, answer):
            self.verdicts = {**getattr(self, "verdicts", {}), key: Verdict(0.0, response == "7")}

        def poll(self, wait_seconds):
            return [(key, self.verdicts.pop(key)) for key in list(self.verdicts)]

    found = verify(problems_of("tests", "7", "8"), Rewards(), None, {}, Ranks(), lambda: False)
    assert found == {"set/0": "unchecked", "set/1": "right", "set/2": "wrong"}
    assert [usable(verdict) for verdict in ("unchecked", "right", "wrong", "timeout")] == [True, True, False, False]


def drawn_from(some, known=None, order: str | int = "started"):
    engine = StandInEngine(mixed, order)
    found = draw(some, collector(engine, StandInRewards(3)), 16, None, known or {})
    return found, engine


def test_draws_do_not_depend_on_what_an_earlier_call_drew():
    everyone = prompts(200)
    whole, _ = drawn_from(everyone)
    assert list(whole) == [prompt.id for prompt in everyone]
    assert all(one.right + one.wrong + one.unknown == 16 for one in whole.values())
    assert {one.right for one in whole.values()} >= {0, 8} and any(one.unknown for one in whole.values())
    half, _ = drawn_from(everyone[::2], order=5)
    resumed, engine = drawn_from(everyone, known=half, order="together")
    assert resumed == whole
    assert {draw.prompt.id for draw in engine.submitted} == {prompt.id for prompt in everyone[1::2]}


def test_the_table_is_a_source_with_beliefs_and_a_profile(tmp_path):
    three = [Prompt(f"set/{name}", (1,), answer, "set", "?") for name, answer in (("a", "5"), ("b", "π"), ("c", "-1"))]
    problems = {prompt.id: f"problem {prompt.id}" for prompt in three}
    path = tmp_path / "problems.parquet"
    write_table(path, three, problems, {one.id: one for one in RESULTS})
    rows = list(Parquet(path=str(path), id="id", pass_rate="pass_rate", pass_rate_draws=4).rows())
    assert [(row.id, row.problem, row.answer) for row in rows] == [
        ("a", "problem set/a", "5"),
        ("b", "problem set/b", "π"),
        ("c", "problem set/c", "-1"),
    ]
    assert [row.prior for row in rows] == [PassRate(0.25, 4), PassRate(0.0, 4), PassRate(0.5, 4)]
    assert dict(zip(*map(list, (read_profile(str(path)).pass_rates_P, read_profile(str(path)).weights_P)), strict=True)) == {
        0.0: 1 / 3,
        0.25: 1 / 3,
        0.5: 1 / 3,
    }
    assert [file.name for file in tmp_path.iterdir()] == ["problems.parquet"]


def test_the_report_counts_every_problem_once(tmp_path):
    golds = [("9", "x", "wrong")]
    found = Findings("my_recipe", "m", 4, "p > 0.3", 7, 1, 1, golds, {one.id: one for one in RESULTS}, [RESULTS[2]])
    assert histogram(found) == [(1, 0), (2, 1), (0, 0), (0, 0), (0, 0)]
    write_report(tmp_path, found)
    text = (tmp_path / "report.md").read_text()
    for line in ("rows read | 7", "of them never right | 1", "of them without any verdict | 1", "**kept: p > 0.3** | 1", "9 | `x` | wrong"):
        assert f"| {line} |" in text
    assert "Mean pass rate: 0.250 of all that were drawn from, 0.500 of the kept." in text  # (1/4 + 0 + 1/2) / 3
    assert "12.5% were cut off" in text and "37.5% have no verdict" in text  # 2 and 6 of 16
    assert "   1  " + "█" * 20 + "░" * 20 + " 2" in text
    assert (tmp_path / "pass_rates.png").read_bytes()[1:4] == b"PNG"
