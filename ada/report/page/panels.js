// Where the draws went: areas of a step's prompts, bars of draws per prompt, beliefs beside pass rates.
const KINDS = { early: "signal in the first 4", recovered: "recovered", all_right: "all right", all_wrong: "all wrong", unknown: "no verdict" };
const OUTCOMES = {
  resolved: ["stop rule held", "--early"], exhausted: ["draws used up", "--all_wrong"], gave_up: ["given up", "--recovered"], open: ["left open", "--unknown"],
};

function legend(holder, entries) {
  holder.replaceChildren(...entries.map(([name, fill]) => element("span", {}, element("i", { style: `background:${fill}` }), name)));
}

function areas(holder) {
  const run = data.runs[holder.dataset.areas], { rows, shares } = run.signal;
  const kept = rows.map((row, i) => [run.axes[view.axis][row], i]).filter(([place]) => place !== null);
  const used = Object.keys(KINDS).filter((kind) => shares[kind].some((share) => share > 0));
  legend(holder.parentNode.querySelector(".kinds"), used.map((kind) => [KINDS[kind], `var(--${kind})`]));
  if (!kept.length) return holder.replaceChildren(element("p", { class: "note" }, "These steps have no place on this axis."));
  const first = kept[0][0], last = kept[kept.length - 1][0], xs = first === last ? [0, last || 1] : [first, last];
  const scale = frame(holder, { xs, ys: [0, 1], height: 224, xTicks: placed[view.axis], xLabel: along[view.axis], xTitle: axisTitle[view.axis], yLabels: (shares) => shares.map((y) => `${Math.round(100 * y)} %`), label: "Shares of prompts against " + axisName[view.axis] });
  const places = first === last ? [[xs[0], 0], [xs[1], 0]] : kept;
  const below = places.map(() => 0);
  for (const kind of used) {
    const lower = places.map(([place], i) => [scale.x(place), scale.y(below[i])]);
    places.forEach(([, i], n) => (below[n] += shares[kind][i]));
    const upper = places.map(([place], i) => [scale.x(place), scale.y(below[i])]);
    const points = [...upper, ...lower.reverse()].map((point) => point.map((value) => value.toFixed(1)).join(",")).join(" ");
    scale.svg.append(shape("polygon", { points, style: `fill:var(--${kind});stroke:var(--card);stroke-width:0.7` }, shape("title", {}, KINDS[kind])));
  }
}

function draws(holder) {
  const bars = data.runs[holder.dataset.draws].draws, totals = bars.map(([, by]) => Object.values(by).reduce((a, b) => a + b, 0));
  const used = Object.keys(OUTCOMES).filter((outcome) => bars.some(([, by]) => by[outcome]));
  legend(holder.parentNode.querySelector(".outcomes"), used.map((outcome) => [OUTCOMES[outcome][0], `var(${OUTCOMES[outcome][1]})`]));
  const each = Math.ceil(bars.length / 8), xTicks = () => bars.map((_, i) => i).filter((i) => (i + 1) % each === 0);
  const scale = frame(holder, {
    xs: [-0.5, bars.length - 0.5], ys: [0, Math.max(...totals, 1) * 1.05], height: 224, xTicks, xLabel: (i) => bars[i][0], xTitle: "draws of a prompt", yTitle: "prompts", label: "Number of prompts by draws",
  });
  const width = Math.max(1, scale.x(1) - scale.x(0) - 2);
  bars.forEach(([label, by], i) => {
    let below = 0;
    for (const outcome of used) {
      const count = by[outcome] || 0;
      if (!count) continue;
      const y = scale.y(below + count), text = `${label} draws: ${count} prompts, ${OUTCOMES[outcome][0]}`;
      const box = { x: scale.x(i) - width / 2, y, width, height: scale.y(below) - y, style: `fill:var(${OUTCOMES[outcome][1]})` };
      scale.svg.append(shape("rect", box, shape("title", {}, text)));
      below += count;
    }
  });
}

function beliefs(holder) {
  const run = Number(holder.dataset.calibration), bins = data.runs[run].calibration;
  const scale = frame(holder, { xs: [0, 1], ys: [0, 1], height: 250, xLabel: compact, xTitle: "believed pass rate", yTitle: "share of right answers", label: "Share of right answers against belief" });
  scale.svg.append(shape("line", { x1: scale.x(0), y1: scale.y(0), x2: scale.x(1), y2: scale.y(1), class: "cursor" }));
  const most = Math.max(...bins.map((bin) => bin[4]));
  for (const [belief, observed, low, high, pools] of bins) {
    const x = scale.x(belief), style = `stroke:${colour(run)};fill:${colour(run)}`;
    scale.svg.append(shape("line", { x1: x, x2: x, y1: scale.y(low), y2: scale.y(high), style, "stroke-width": 1.5 }));
    const text = `believed ${compact(belief)}, right ${compact(observed)} (${compact(low)} to ${compact(high)}), ${pools} prompts`;
    scale.svg.append(shape("circle", { cx: x, cy: scale.y(observed), r: 2.5 + 4 * Math.sqrt(pools / most), style, "fill-opacity": 0.55 }, shape("title", {}, text)));
  }
}

function panels() {
  document.querySelectorAll("[data-areas]").forEach(areas);
  document.querySelectorAll("[data-draws]").forEach(draws);
  document.querySelectorAll("[data-calibration]").forEach(beliefs);
}
