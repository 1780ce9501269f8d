"""The page in a real browser, at the widths of a phone and of a desktop: whole, quiet, and obedient to its controls."""

from __future__ import annotations

import math
import re

import pytest

from ada.report.record import read_run
from ada.report.render import PARTS, render
from ada.report.view import page_view
from tests.report.browser import CHROMIUM, look_at
from tests.report.runs import pools, sample, step, write

pytestmark = [pytest.mark.slow, pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")]

EVIL = "</script><script>window.hacked = 1</script><img src=x onerror='window.hacked = 1'>"
LONG = "x" * 3_000  # without a place to break the line

LOOK = """async (page) => {
  const document = page.document, wait = () => new Promise((resolve) => setTimeout(resolve, 60));
  const send = (target, type, more) => target.dispatchEvent(Object.assign(new page.Event(type, {bubbles: true, cancelable: true}), more));
  const all = (query) => [...document.querySelectorAll(query)];
  const number = (query) => all(query).length;
  all("details").forEach((one) => (one.open = true));
  await wait();
  const root = document.documentElement, found = {};
  found.overflow = root.scrollWidth - root.clientWidth;
  found.charts = number("#groups .chart > svg");
  found.text = document.body.innerText.length;
  found.unnamed = all("button, input, select, svg[tabindex]").filter(
    (one) => !(one.labels?.length || one.textContent.trim() || one.getAttribute("aria-label"))).length;
  const chart = () => document.querySelector('[data-metric="train/loss"] svg') || document.querySelector("#groups .chart > svg");
  if (chart()) {
    const reading = () => chart().closest("figure").querySelector(".reading").innerText;
    found.last = reading();
    chart().focus();
    send(chart(), "keydown", {key: "ArrowLeft"});
    await wait();
    found.before = reading();
    found.spoken = document.getElementById("spoken").textContent;
    const path = document.querySelector('[data-metric="train/loss"] path.line');
    found.moves = path ? path.getAttribute("d").split("M").length - 1 : null;
  }
  const labels = () => all("#groups .chart text").map((one) => one.textContent).join(" ");
  const inside = (box, view) => box.x >= -1 && box.y >= -1 && box.x + box.width <= view.width + 1 && box.y + box.height <= view.height + 1;
  const apart = (a, b) => a.x + a.width <= b.x || b.x + b.width <= a.x || a.y + a.height <= b.y + 2 || b.y + b.height <= a.y + 2;
  const crowded = () => all("#content svg[role=img]").flatMap((svg) => {
    const texts = [...svg.querySelectorAll("text")].filter((one) => one.textContent).map((one) => [one.textContent, one.getBBox()]);
    const cut = texts.filter(([, box]) => !inside(box, svg.viewBox.baseVal)).map(([text]) => `cut: ${text}`);
    const near = ([a, one], i) => texts.slice(i + 1).filter(([, two]) => !apart(one, two)).map(([b]) => `${a} on ${b}`);
    return [...cut, ...texts.flatMap(near)];
  });
  found.crowded = crowded();
  found.axes = [];
  for (const axis of ["tokens", "seconds", "step"]) {
    document.querySelector(`input[value="${axis}"]`).click();
    await wait();
    found.axes.push(labels());
    found.crowded.push(...crowded());
  }
  for (const name of ["smooth", "log"]) document.querySelector(`#controls input[name="${name}"]`).click();
  await wait();
  found.crowded.push(...crowded());
  found.broken = all("#content svg *").filter((one) => [...one.attributes].some((a) => /NaN|Infinity|undefined/.test(a.value))).length;
  found.samples = number(".sample");
  const search = document.querySelector('input[type="search"]');
  search.value = "needle";
  send(search, "input");
  found.needles = number(".sample");
  found.marks = number(".sample mark");
  search.value = "";
  send(search, "input");
  all('input[name="verdict"]').filter((one) => one.value !== "right").forEach((one) => one.click());
  found.right = number(".sample.right");
  found.notRight = number(".sample:not(.right)");
  const shade = () => page.getComputedStyle(document.body).backgroundColor;
  const shades = [shade()];
  document.getElementById("theme").click();
  found.shades = [...shades, shade()];
  found.hacked = page.hacked ?? null;
  found.evil = document.body.textContent.includes("onerror='window.hacked = 1'>");
  found.overflowAfter = root.scrollWidth - root.clientWidth;
  found.faults = page.faults;
  return found;
}"""


def rows(count):
    yield step(0, eval_acc=0.2)
    for i in range(1, count + 1):
        loss = None if i % 7 == 3 else math.nan if i % 50 == 20 else math.sin(i)
        yield step(i, train_loss=loss, reward_mean=0.5, total_generated_tokens=700 * i, total_seconds=2.5 * i, train_grad_norm=1e-9 * i)


@pytest.fixture(scope="module")
def seen(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    samples = [sample(i, f"text {i}", "right" if i % 2 else "wrong") for i in range(1, 60)]
    samples += [sample(60, EVIL, "timeout"), sample(61, LONG), sample(62, "a needle in hay", "right", prompt_id=LONG)]
    recipe = {"steps": 30, LONG: LONG}
    draws = [pools(i, "RW", "WWWWWWWWR", "FF", beliefs=[0.5, 0.1, 0.9]) for i in range(1, 31)]
    runs = {
        "empty": write(folder / "empty"),
        "one step": write(folder / "one", list(rows(1)), [pools(1, "RW", "WWWWW")], [sample(1, "x")]),
        "usual": write(folder / f"usual-{EVIL.replace('/', '')}", list(rows(30)), draws, samples, recipe=recipe),
        "long": write(folder / "long", list(rows(10_000)), [pools(i, "RW", "WW") for i in range(1, 10_001)]),
    }
    read = {name: read_run(path) for name, path in runs.items()}
    pages = {name: render(page_view([run])) for name, run in read.items()}
    pages["compared"] = render(page_view(list(read.values())))
    return pages, look_at(pages, LOOK, folder)


@pytest.fixture(
    params=[
        "empty 390",
        "empty 1440",
        "one step 390",
        "one step 1440",
        "usual 390",
        "usual 1440",
        "long 390",
        "compared 390",
        "compared 1440",
    ]
)
def page(request, seen):
    return seen[1][request.param]


def test_no_page_has_an_error_a_broken_shape_or_a_sideways_scroll(page):
    assert page["faults"] == []
    assert page["overflow"] == page["overflowAfter"] == 0
    assert page["broken"] == page["unnamed"] == 0 and page["crowded"] == []
    assert page["text"] > 500 and len(set(page["shades"])) == 2


@pytest.mark.parametrize("width", [390, 1440])
def test_the_usual_run(seen, width):
    page = seen[1][f"usual {width}"]
    assert page["hacked"] is None and page["evil"]  # markup in a response is text
    assert page["charts"] == 3  # eval/acc, train/loss, train/grad_norm; reward/mean never changes
    assert len(set(page["axes"])) == 3 and "20k" in page["axes"][0] and "1:00" in page["axes"][1] and "30" in page["axes"][2].split()
    for axis, title in zip(page["axes"], ("generated tokens", "time (min:s, h:min:s)", "step"), strict=True):
        assert axis.count(title) == 3
    assert (page["samples"], page["needles"], page["marks"]) == (40, 1, 1)
    assert (page["right"], page["notRight"]) == (31, 0)
    assert page["last"].split() == ["-0.988", "last,", "step", "30"] and page["before"].split() == [
        "-0.664",
        "step",
        "29",
    ]  # sin 30, sin 29
    assert page["spoken"].startswith("step 29: ") and page["moves"] == 6  # gaps at 3, 10, 17, 20, 24: six pieces


def test_ten_thousand_steps_are_a_page_of_usual_size(seen):
    assert len(seen[0]["long"]) < 2_000_000 and seen[1]["long 390"]["charts"] == 3


def test_a_page_asks_nothing_of_the_network(seen):
    for page in seen[0].values():
        head = page.split("</head>")[0]
        assert "default-src 'none'" in head
        assert not [tag for tag in ('<link rel="stylesheet', 'src="http', "@import", "url(") if tag in head]


def test_text_and_lines_stand_out_from_their_ground_in_both_themes():
    """Contrast as WCAG 2.1 defines it: 4.5 for text, 3 for lines."""
    named = re.findall(r"--(\w+): light-dark\((#\w{6}), (#\w{6})\)", (PARTS / "page.css").read_text())
    for theme in (0, 1):
        shade = {name: luminance(colours[theme]) for name, *colours in named}
        for ground in ("page", "card"):
            for name in ("text", "soft", "accent", "good", "warn", "bad", "right", "wrong", "other"):
                assert contrast(shade[name], shade[ground]) >= 4.5, (name, ground, theme)
        assert not [r for r in range(8) if contrast(shade[f"r{r}"], shade["card"]) < 3], theme


def luminance(colour):
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    return (max(one, other) + 0.05) / (min(one, other) + 0.05)
