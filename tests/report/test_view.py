"""What a report says of runs written by hand: how they are read, thinned, counted and compared."""

from __future__ import annotations

import json
import math

import pytest

from ada.report import samples
from ada.report.calibration import calibration, wilson
from ada.report.comparison import comparisons, differences
from ada.report.curves import axes, curves, thinned
from ada.report.record import find_run, read_run
from ada.report.render import render
from ada.report.signal import kind_of, signal
from ada.report.view import bars, page_view
from tests.report.runs import RECIPE, pools, sample, step, write


def test_a_killed_run_is_read_up_to_its_torn_line(tmp_path):
    folder = write(tmp_path / "r", [step(0), step(1, reward_mean=0.5), step(2, reward_mean=0.6)])
    with (folder / "metrics.jsonl").open("a") as file:
        file.write('{"step": 3, "rew')
    run = read_run(folder)
    assert [row["step"] for row in run.steps] == [0, 1, 2] and run.unread == {} and run.summary is None


def test_lines_that_are_no_record_are_counted_and_left_out(tmp_path):
    folder = write(tmp_path / "r", [step(1)], [pools(1, "RW")])
    for name, line in (("metrics", "[1, 2]\nnot json\n"), ("pools", '{"step": 2, "verdicts": ["R"]}\n'), ("samples", '{"step": 1}\n')):
        with (folder / f"{name}.jsonl").open("a") as file:
            file.write(line)
    run = read_run(folder)
    assert run.unread == {"metrics.jsonl": 2, "pools.jsonl": 1, "samples.jsonl": 1}
    assert len(run.steps) == len(run.pools) == 1


def test_a_step_that_was_written_twice_counts_once_and_as_written_last(tmp_path):
    run = read_run(write(tmp_path / "r", [step(1, reward_mean=0.1), step(2, reward_mean=0.2), step(1, reward_mean=0.3)]))
    assert [(row["step"], row["reward/mean"]) for row in run.steps] == [(1, 0.3), (2, 0.2)]


def test_nothing_but_an_empty_folder_with_a_recipe(tmp_path):
    folder = tmp_path / "r"
    folder.mkdir()
    (folder / "recipe.yaml").write_text("")
    page = render(page_view([read_run(folder)]))
    assert "There is no pools.jsonl" in page and "recipe.yaml, metrics.jsonl" in page


def test_a_run_is_found_by_its_path_or_its_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "runs" / "micro-2")
    assert find_run("micro-2") == find_run("runs/micro-2")
    for asked in ("mircro", "runs/mircro"):
        with pytest.raises(FileNotFoundError, match="Runs in runs: micro-2"):
            find_run(asked)


def test_null_and_nan_are_gaps_and_a_missing_metric_is_no_point(tmp_path):
    rows = [step(0, eval_acc=0.2), step(1, train_loss=1.0), step(2, train_loss=None), step(3, train_loss=math.nan), step(4, train_loss=0.5)]
    found = curves(read_run(write(tmp_path / "r", [*rows, step(5, eval_acc=0.4, train_gone=None)])))
    assert found == {"eval/acc": [(0, 0.2), (5, 0.4)], "train/loss": [(1, 1.0), (2, None), (3, None), (4, 0.5)]}


def test_axes_begin_at_step_0(tmp_path):
    totals = {"total_generated_tokens": 640, "total_seconds": 2.5}
    run = read_run(write(tmp_path / "r", [step(0), step(1, **totals), step(2, error="KeyError")]))
    assert axes(run) == {"step": [0, 1, 2], "tokens": [0, 640, None], "seconds": [0, 2.5, None]}


def test_thinning_keeps_every_spike_the_order_and_the_gaps():
    points = [(i, 1.0) for i in range(10_000)]
    points[5_555] = (5_555, 99.0)
    points[7_777] = (7_777, -99.0)
    points[2_000:2_100] = [(i, None) for i in range(2_000, 2_100)]
    thin = thinned(points, 600)
    assert len(thin) <= 600
    assert (5_555, 99.0) in thin and (7_777, -99.0) in thin
    assert [i for i, _ in thin if 2_000 <= i < 2_100] and all(value is None for i, value in thin if 2_000 <= i < 2_100)
    assert thin[0][0] == 0 and [i for i, value in thin if value is not None] == sorted(i for i, value in thin if value is not None)
    assert thinned(points[:600], 600) == points[:600]
    assert thinned([(i, None) for i in range(1_000)], 30) == [(i * 100, None) for i in range(10)]


@pytest.mark.parametrize(
    "verdicts, kind",
    [
        ("RWWW", "early"),
        ("RRRRW", "recovered"),
        ("WWWWWWWR", "recovered"),
        ("FFFRW", "recovered"),  # one verdict among the first four
        ("RR", "all_right"),
        ("RFFF", "all_right"),
        ("WWWWW", "all_wrong"),
        ("FF", "unknown"),
    ],
)
def test_what_a_pool_showed(verdicts, kind):
    assert kind_of(verdicts) == kind


def test_shares_and_the_cost_of_a_recovered_prompt(tmp_path):
    """10 + 4 extra draws and 2 surplus ones for two recovered prompts: 8 each."""
    metrics = [step(0), step(1, sampling_surplus_draws=2), step(2, sampling_surplus_draws=0)]
    run = read_run(write(tmp_path / "r", metrics, [pools(1, "RWRW", "WWWWWR"), pools(2, "WWWWWWWW", "RRRRRRRW")]))
    found = signal(run)
    assert found.counts == {"early": 1, "recovered": 2, "all_wrong": 1} and found.share("recovered") == 0.5
    assert found.extra_draws == 2 + 4 + 4 + 2 and found.cost == 6
    assert found.shares["recovered"] == [0.5, 0.5] and found.shares["all_right"] == [0, 0]
    assert found.mean_draws == (4 + 6 + 8 + 8) / 4
    assert {label: by["resolved"] for label, by in bars(found) if by} == {"4": 1, "6": 1, "8": 2}


def test_many_different_draws_share_bars(tmp_path):
    found = signal(read_run(write(tmp_path / "r", [], [pools(1, "W" * 1, "W" * 64, "W" * 63)])))
    assert [(label, by) for label, by in bars(found) if by] == [("1–2", {"resolved": 1}), ("63–64", {"resolved": 2})]


def test_nothing_recovered_has_no_cost(tmp_path):
    assert signal(read_run(write(tmp_path / "r", [], [pools(1, "WWWWWW")]))).cost is None
    assert signal(read_run(write(tmp_path / "s"))).share("early") is None


def test_calibration_looks_at_the_draws_that_every_pool_has(tmp_path):
    """Pools that stop at their first right answer, so that whole pools would say 1/2 and 1/3; the first draw is wrong each time."""
    rows = [pools(1, "WR", "WWR", beliefs=[0.31, 0.39]), pools(2, "RRR", "FFF", beliefs=[1.0, 0.95])]
    found = calibration(read_run(write(tmp_path / "r", [], rows)))
    assert found.first == 2
    low, high = found.bins
    assert (low.belief, low.observed, low.pools, low.draws) == (pytest.approx(0.35), 0.25, 2, 4)
    assert (high.belief, high.observed, high.pools, high.draws) == (1.0, 1.0, 1, 2)  # without a verdict, no evidence
    assert found.error == pytest.approx((4 * 0.10 + 2 * 0.0) / 6)


def test_wilson_against_the_published_example():
    """Newcombe 1998, Statistics in Medicine 17, table I: 81 of 263 gives 0.2553 to 0.3662; 0 of 20 gives 0 to 0.1611."""
    assert wilson(81, 263) == (pytest.approx(0.2553, abs=5e-5), pytest.approx(0.3662, abs=5e-5))
    assert wilson(0, 20) == (0.0, pytest.approx(0.1611, abs=5e-5))


def test_runs_are_compared_at_what_the_cheaper_one_had_spent(tmp_path):
    def rows(tokens, seconds, count):
        evaluations = {0: 0.2, 2: 0.3, count: 0.4}
        for i in range(count + 1):
            totals = {"total_generated_tokens": tokens * i, "total_seconds": seconds * i, "reward_first_n": i / 10} if i else {}
            yield step(i, **totals) | ({"eval/s/avg@8": evaluations[i]} if i in evaluations else {})

    cheap = read_run(write(tmp_path / "cheap", list(rows(100, 1.0, 8))))
    dear = read_run(write(tmp_path / "dear", list(rows(300, 4.0, 4))))
    by_title = {table.title: table for table in comparisons([cheap, dear])}
    assert {title: table.budget for title, table in by_title.items()} == {"updates": 8, "generated tokens": 800, "seconds": 8.0}
    steps = {title: [(one.step, one.evaluated) for one in table.standings] for title, table in by_title.items()}
    assert steps == {"updates": [(4, 2), (4, 4)], "generated tokens": [(8, 8), (2, 2)], "seconds": [(8, 8), (2, 2)]}
    tokens = by_title["generated tokens"].standings
    assert [one.values["eval/s/avg@8"] for one in tokens] == [0.4, 0.3]
    assert [one.values["reward/first_n"] for one in tokens] == [pytest.approx(0.45), pytest.approx(0.15)]  # means of 0.1 … 0.8 and 0.1, 0.2
    assert [one.values["total/seconds"] for one in tokens] == [8.0, 8.0]


def test_runs_without_steps_are_not_compared(tmp_path):
    assert comparisons([read_run(write(tmp_path / "a")), read_run(write(tmp_path / "b", [step(1)]))]) == []


def test_recipes_differ_where_a_key_does(tmp_path):
    other = {**RECIPE, "steps": 9, "output": "elsewhere", "sampling": {"schedule": {"name": "uniform", "draws": 4}}}
    found = differences([read_run(write(tmp_path / "a")), read_run(write(tmp_path / "b", recipe=other))])
    assert found == {
        "steps": ["50", "9"],
        "sampling.schedule.name": ["seq", "uniform"],
        "sampling.schedule.max_draws": ["32", "–"],
        "sampling.schedule.draws": ["–", "4"],
    }


def test_samples_are_spread_over_the_run_and_long_ones_are_cut_in_the_middle():
    rows = [sample(i, str(i)) for i in range(5_001)]
    assert [row["step"] for row in samples.chosen(rows, 5)] == [0, 1250, 2500, 3750, 5000]
    assert samples.chosen(rows[:3], 5) == rows[:3]
    assert samples.cut("a" * 300 + "b" * 300, 10) == "aaaaa\n[… 590 characters left out …]\nbbbbb"
    assert samples.cut("abc", 3) == "abc"


def test_no_text_of_a_model_becomes_markup(tmp_path):
    evil = "</script><script>window.hacked = 1</script><!-- <b>\u2028 & \ud800"
    recipe = {**RECIPE, "run": "</pre><script>window.hacked = 1</script>"}
    run = read_run(write(tmp_path / "r", [step(1, error=evil)], samples=[sample(1, evil, prompt=evil, verdict=evil)], recipe=recipe))
    page = render(page_view([run]))
    data = page.split('id="data">')[1].split("</script>")[0]
    assert json.loads(data)["samples"][0]["response"] == evil.replace("\ud800", "?")
    assert page.count("<script") == 2 and "<b>" not in page.split("<body>")[1].split("<script")[0]
    page.encode("utf-8")
