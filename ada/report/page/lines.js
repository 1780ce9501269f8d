// One metric of all runs against the chosen axis, with a cursor that all charts share.
const charts = [];
const spoken = document.getElementById("spoken");
const NOUGHT = /_fraction$|^reward\/|^eval\//; // metrics whose zero means something: their axis begins there

// [{run, places, values}], in the order of the axis; null is a gap, a point without a place on the axis is left out.
function seriesOf(metric) {
  const found = [];
  data.runs.forEach((run, number) => {
    const curve = run.curves[metric];
    if (!curve || !view.shown[number]) return;
    const axis = run.axes[view.axis], places = [], values = [];
    curve[0].forEach((row, i) => {
      if (axis[row] === null) return;
      places.push(axis[row]);
      values.push(view.log && !(curve[1][i] > 0) ? null : curve[1][i]);
    });
    found.push({ run: number, places, values });
  });
  return found;
}

const MANY = 24; // points from which on a curve may be smoothed: of fewer, each is shown

function smoothed(values) {
  const reach = Math.max(1, Math.round(values.length / 40));
  return values.map((value, i) => {
    if (value === null) return null;
    const near = values.slice(Math.max(0, i - reach), i + reach + 1).filter((other) => other !== null);
    return near.reduce((sum, other) => sum + other, 0) / near.length;
  });
}

// A path with a move after each gap, and the points that no line reaches.
function path(places, values, scale) {
  let text = "";
  const alone = [];
  values.forEach((value, i) => {
    if (value === null) return;
    const joined = i > 0 && values[i - 1] !== null;
    text += `${joined ? "L" : "M"}${scale.x(places[i]).toFixed(1)} ${scale.y(value).toFixed(1)}`;
    if (!joined && (i + 1 >= values.length || values[i + 1] === null)) alone.push(i);
  });
  return [text, alone];
}

function span(values, log, nought) {
  const known = values.filter((value) => value !== null);
  if (!known.length) return null;
  let low = known.reduce((a, b) => Math.min(a, b)), high = known.reduce((a, b) => Math.max(a, b));
  if (log) return [low / 1.2, high * 1.2];
  if (nought) low = Math.min(0, low);
  if (low === high) [low, high] = low === 0 ? [0, 1] : [low - Math.abs(low) / 2, high + Math.abs(high) / 2];
  const room = (high - low) * 0.06;
  return [nought && low === 0 ? 0 : low - room, high + room];
}

class Lines {
  constructor(metric) {
    this.metric = metric;
    this.reading = element("div", { class: "reading" });
    this.holder = element("div", { class: "chart" });
    this.card = element("figure", { class: "card" }, element("figcaption", {}, element("code", {}, metric), " ", element("span", { class: "unit" }, data.units[metric])), this.reading, this.holder);
    this.card.dataset.metric = metric;
    charts.push(this);
  }

  draw() {
    this.series = seriesOf(this.metric);
    const values = this.series.flatMap((one) => one.values), places = this.series.flatMap((one) => one.places);
    const ys = span(values, view.log, NOUGHT.test(this.metric)), xs = [0, Math.max(...places, 0) || 1];
    if (!ys) {
      this.holder.replaceChildren(element("p", { class: "note" }, view.log ? "No value above zero." : "No value here."));
      this.reading.replaceChildren();
      this.scale = null;
      return;
    }
    const scale = (this.scale = frame(this.holder, { xs, ys, log: view.log, xTicks: placed[view.axis], xLabel: along[view.axis], xTitle: axisTitle[view.axis], label: this.summary() }));
    for (const one of this.series) this.trace(one);
    this.cursor = shape("line", { class: "cursor", y1: scale.top, y2: scale.height - scale.bottom, visibility: "hidden" });
    scale.svg.append(this.cursor);
    scale.svg.setAttribute("tabindex", "0");
    scale.svg.addEventListener("pointermove", (event) => {
      const box = scale.svg.getBoundingClientRect();
      point(scale.invert(((event.clientX - box.left) / box.width) * scale.width));
    });
    scale.svg.addEventListener("pointerleave", () => point(null));
    scale.svg.addEventListener("blur", () => point(null));
    scale.svg.addEventListener("keydown", (event) => this.key(event));
    this.read(null);
  }

  trace({ run, places, values }) {
    const { svg } = this.scale, style = `stroke:${colour(run)}`;
    const smooth = view.smooth && values.length >= MANY, shownValues = smooth ? smoothed(values) : values;
    if (smooth) svg.append(shape("path", { class: "line faint", d: path(places, values, this.scale)[0], style }));
    const [d, alone] = path(places, shownValues, this.scale);
    svg.append(shape("path", { class: "line", d, style, "stroke-dasharray": data.runs.length > 1 ? dash(run) : "" }));
    const sparse = values.length < MANY ? values.flatMap((value, i) => (value === null ? [] : [i])) : alone;
    for (const i of sparse) svg.append(shape("circle", { cx: this.scale.x(places[i]), cy: this.scale.y(shownValues[i]), r: 2.6, style: `fill:${colour(run)}` }));
  }

  // The point of a series nearest to a place that has a value; the last one where no place is asked for.
  nearest(one, place) {
    let best = -1;
    one.values.forEach((value, i) => {
      if (value !== null && (best < 0 || place === null || Math.abs(one.places[i] - place) <= Math.abs(one.places[best] - place))) best = i;
    });
    return best;
  }

  read(place) {
    if (!this.scale) return;
    const parts = [];
    for (const one of this.series) {
      const i = this.nearest(one, place);
      if (i < 0) continue;
      const at = `${axisName[view.axis]} ${along[view.axis](one.places[i])}`;
      const part = element("span", {}, element("b", {}, compact(one.values[i])), ` ${place === null ? "last, " : ""}${at}`);
      if (data.runs.length > 1) {
        const mark = element("span", { class: "swatch" }, swatch(one.run));
        part.replaceChildren(mark, element("b", {}, compact(one.values[i])));
        part.title = `${data.runs[one.run].name}, ${at}`;
      }
      parts.push(part);
    }
    this.reading.replaceChildren(...parts);
    const visible = place !== null && parts.length;
    this.cursor.setAttribute("visibility", visible ? "visible" : "hidden");
    if (visible) for (const end of ["x1", "x2"]) this.cursor.setAttribute(end, this.scale.x(place));
  }

  key(event) {
    const one = this.series[0], last = one.places.length - 1;
    const at = current === null ? last : this.nearest(one, current);
    const to = { ArrowLeft: Math.max(0, at - 1), ArrowRight: Math.min(last, at + 1), Home: 0, End: last }[event.key];
    if (event.key === "Escape") point(null);
    if (to === undefined) return;
    event.preventDefault();
    point(one.places[to]);
    const told = this.series.map((each) => `${data.runs[each.run].name} ${compact(each.values[this.nearest(each, one.places[to])])}`);
    spoken.textContent = `${axisName[view.axis]} ${along[view.axis](one.places[to])}: ${told.join(", ")}`;
  }

  summary() {
    const told = this.series.map(({ run, values }) => {
      const known = values.filter((value) => value !== null);
      return known.length ? `${data.runs[run].name} from ${compact(known[0])} to ${compact(known[known.length - 1])}` : "";
    });
    return `${this.metric} against ${axisName[view.axis]}: ${told.filter(Boolean).join("; ")}`;
  }
}

let current = null, waiting = false;
function point(place) {
  current = place;
  if (waiting) return;
  waiting = true;
  requestAnimationFrame(() => {
    waiting = false;
    for (const chart of charts) chart.read(current);
  });
}
