// Puts the page together, and draws again when the axis, the width or the choice of runs changes.
const GROUPS = [
  ["Learning", /^(reward\/(mean|first_n)$|eval\/)/],
  ["Sampling and signal", /^(signal|sampling|reward)\//],
  ["Training", /^train\//],
  ["Responses", /^completions\//],
  ["Sampler beside trainer", /^mismatch\//],
  ["Time and speed", /^(time|throughput)\//],
  ["More", /./],
];
const OPEN = 3; // groups that are open at first

function groups() {
  const left = new Set(data.runs.flatMap((run) => Object.keys(run.curves)));
  const holder = document.getElementById("groups");
  if (!left.size) holder.append(element("p", { class: "note" }, "There is no metric yet."));
  for (const [title, pattern] of GROUPS) {
    const metrics = [...left].filter((metric) => pattern.test(metric)).sort();
    if (!metrics.length) continue;
    metrics.forEach((metric) => left.delete(metric));
    const flat = metrics.filter(neverChanges);
    const made = metrics.filter((metric) => !flat.includes(metric)).map((metric) => new Lines(metric));
    const group = element("details", { class: "group" }, element("summary", {}, title), element("div", { class: "grid" }, ...made.map((chart) => chart.card)));
    if (flat.length) group.append(always(flat));
    group.open = holder.children.length < OPEN;
    group.addEventListener("toggle", () => group.open && made.forEach((chart) => chart.draw()));
    holder.append(group);
  }
}

// A curve of one value at several steps tells nothing that the value does not.
function valuesOf(metric) {
  return data.runs.flatMap((run) => (run.curves[metric] ? run.curves[metric][1] : []));
}

function neverChanges(metric) {
  const values = valuesOf(metric);
  return values.length > data.runs.length && values.every((value) => value === values[0]);
}

function always(metrics) {
  const told = metrics.map((metric) => element("span", {}, element("code", {}, metric), " ", element("b", {}, compact(valuesOf(metric)[0]))));
  return element("p", { class: "always" }, "At every step: ", ...told);
}

function drawAll() {
  for (const chart of charts) if (chart.card.closest("details").open) chart.draw();
  panels();
}

function startControls() {
  const controls = document.getElementById("controls");
  view.smooth = controls.elements.smooth.checked;
  controls.addEventListener("submit", (event) => event.preventDefault());
  controls.addEventListener("change", () => {
    const form = new FormData(controls);
    Object.assign(view, { axis: form.get("axis"), smooth: form.has("smooth"), log: form.has("log") });
    if (data.runs.length > 1) view.shown = data.runs.map((_, run) => form.getAll("run").includes(String(run)));
    drawAll();
  });
  document.getElementById("theme").addEventListener("click", () => {
    document.documentElement.dataset.theme = isLight() ? "dark" : "light";
  });
  let width = 0;
  new ResizeObserver(() => {
    if (document.body.clientWidth !== width) requestAnimationFrame(drawAll); // later: drawing changes sizes, which are being told
    width = document.body.clientWidth;
  }).observe(document.body);
}

function isLight() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "light" : !matchMedia("(prefers-color-scheme: dark)").matches;
}

document.querySelectorAll(".swatch[data-run]").forEach((place) => place.append(swatch(Number(place.dataset.run))));
groups();
startControls();
startSamples();
