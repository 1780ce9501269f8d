"""What is shown while a run goes: calm on a terminal, plain and parsable elsewhere, nothing on other ranks."""

import io
import re

import pytest
from rich.console import Console

from ada.observability import progress
from ada.observability.closing import closing_lines
from ada.observability.numbers import clock, compact, percent, sparkline
from ada.observability.progress import LiveDisplay, PlainLines, Silent, open_progress
from ada.types import StepRecord

METRICS = {
    "reward/mean": 0.6123,
    "signal/zero_gradient_fraction": 0.125,
    "sampling/responses_per_prompt": 6.4,
    "throughput/rollout_tokens_per_second": 12345.0,
}


@pytest.fixture
def seconds(monkeypatch):
    """The clock; set seconds[0] to move it."""
    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    return now


def drawn(display, width):
    """The live block as text, a line a row."""
    console = Console(width=width, file=io.StringIO(), force_terminal=False)
    display._console = console
    console.print(display._render())
    return console.file.getvalue().split("\n")


def test_a_plain_line_per_step_is_key_value(seconds):
    stream = io.StringIO()
    shown = open_progress("micro", stream=stream)
    assert isinstance(shown, PlainLines)
    shown.start(200)
    seconds[0] += 2.0
    shown.step(StepRecord(1, METRICS))
    seconds[0] += 4.0
    shown.step(StepRecord(2, {**METRICS, "reward/mean": None, "eval/micro/avg@4": 0.5}))
    shown.close()
    first, second = (dict(field.split("=") for field in line.split()) for line in stream.getvalue().splitlines())
    assert first == {
        "step": "1",
        "total": "200",
        "reward": "0.6123",
        "zero_gradient": "0.125",
        "responses_per_prompt": "6.4",
        "tokens_per_second": "12345",
        "seconds_left": "398",  # 199 steps of 2 s
    }
    assert (second["reward"], second["eval/micro/avg@4"], second["seconds_left"]) == ("nan", "0.5", "594")  # 198 steps of 3 s


def test_plain_output_has_no_control_characters():
    stream = io.StringIO()
    shown = open_progress("micro", stream=stream)
    shown.start(1)
    shown.note("a \x1b[31mred\x1b[0m word\r and a bell\x07")
    shown.step(StepRecord(1, METRICS))
    assert stream.getvalue().startswith("a red word and a bell\nstep=1 ")
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f]", stream.getvalue())


def test_a_closed_pipe_does_not_end_the_run_N03():
    class Closed(io.StringIO):
        def write(self, text):
            raise BrokenPipeError

    shown = PlainLines(Closed())
    shown.start(1)
    shown.step(StepRecord(1, METRICS))
    shown.close()


def test_a_continued_run_counts_the_steps_done_before(seconds):
    display = LiveDisplay("micro", Console(file=io.StringIO(), width=80))
    display._time.start(100, 40)
    seconds[0] += 3.0
    display.step(StepRecord(41, METRICS))
    lines = drawn(display, 80)
    assert lines[1].startswith("micro") and lines[1].endswith("step 41 of 100   0:03")
    assert lines[4].endswith("2:57")  # 59 steps of 3 s
    seconds[0] += 1.0
    assert drawn(display, 80)[4].endswith("2:56")
    seconds[0] += 60.0  # a long step: what is left of the others stays
    assert drawn(display, 80)[4].endswith("2:54")


@pytest.mark.parametrize("width", [40, 60, 80, 120, 200])
@pytest.mark.parametrize("metrics", [METRICS, {}])
def test_the_live_block_has_five_lines_at_any_width(width, metrics):
    display = LiveDisplay("a_long_name_of_a_recipe_somebody_wrote", Console(file=io.StringIO(), width=width))
    display._time.start(100000, 99998)
    for _ in range(30):
        display.step(StepRecord(99999, metrics))
    lines = drawn(display, width)
    assert len(lines) == 6 and lines[5] == ""
    assert all(len(line) <= width for line in lines)


def test_other_ranks_show_nothing(capsys):
    shown = open_progress("micro", rank=1)
    assert isinstance(shown, Silent)
    shown.start(3)
    shown.step(StepRecord(1, METRICS))
    shown.note("x")
    shown.close()
    assert capsys.readouterr() == ("", "")


def test_a_terminal_gets_the_live_display_and_it_closes_twice():
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    stream = Terminal()
    shown = open_progress("micro", stream=stream)
    if isinstance(shown, PlainLines):
        pytest.skip("TERM says this terminal is dumb")
    shown.start(2)
    shown.step(StepRecord(1, {**METRICS, "eval/micro/avg@4": 0.25}))
    shown.close()
    shown.close()
    assert "micro/avg@4 0.250" in stream.getvalue() and "0.612" in stream.getvalue()


def test_closing_lines_compare_before_and_after(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = closing_lines(
        {
            "run": str(tmp_path / "runs" / "micro-2"),
            "steps": 200,
            "seconds": 252.0,
            "responses": 51200,
            "generated_tokens": 1234567,
            "memory_retries": 0,
            "before": {"eval/micro/avg@4": 0.121, "eval/micro/pass@4": None},
            "after": {"eval/micro/avg@4": 0.634, "eval/micro/pass@4": 0.75},
            "stopped_by": None,
        }
    )
    assert [line.split() for line in lines] == [
        ["Held-out", "accuracy", "before", "after", "gain"],
        ["micro/avg@4", "0.121", "0.634", "+0.513"],
        ["micro/pass@4", "–", "0.750", "–"],
        [],
        ["200", "steps", "in", "4:12,", "51.2k", "responses", "and", "1.23M", "tokens"],
        ["runs/micro-2"],
    ]
    assert len({len(line) for line in lines[:3]}) == 1  # the columns are flush right


def test_closing_lines_say_why_a_run_stopped_early():
    summary = {"run": "/elsewhere/r", "steps": 3, "seconds": 1.0, "responses": 1, "generated_tokens": 1, "before": {}, "after": {}}
    assert closing_lines({**summary, "memory_retries": 0, "stopped_by": "Ctrl-C"}) == [
        "Stopped after 3 steps: Ctrl-C",
        "",
        "3 steps in 0:01, 1 responses and 1 tokens",
        "/elsewhere/r",
    ]


@pytest.mark.parametrize(
    "value, text",
    [
        (0.0, "0"),
        (6.423, "6.42"),
        (7, "7"),
        (999.4, "999"),
        (999.6, "1k"),
        (12345, "12.3k"),
        (999_600, "1M"),
        (1_234_567, "1.23M"),
        (None, "–"),
    ],
)
def test_compact(value, text):
    assert compact(value) == text


@pytest.mark.parametrize("seconds, text", [(0, "0:00"), (65, "1:05"), (3605, "1:00:05"), (97_200, "1 d 03:00"), (None, "–"), (-5, "0:00")])
def test_clock(seconds, text):
    assert clock(seconds) == text


def test_percent_and_sparkline():
    assert (percent(0.125), percent(0.0), percent(float("nan"))) == ("12 %", "0 %", "–")
    assert sparkline([0.0, 1.0, float("nan"), 0.5], 8) == "▁█▅"
    assert sparkline([0.0, 0.0, 1.0, 1.0], 2) == "▁█"
    assert sparkline([], 4) == "" and sparkline([2.0], 4) == "▁"
