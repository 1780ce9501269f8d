"use strict";
// What all charts share: the data, SVG elements, scales, ticks and numbers.
const data = JSON.parse(document.getElementById("data").textContent);
const SVG = "http://www.w3.org/2000/svg";
const DASHES = ["", "7 3", "2 3", "9 3 2 3", "4 2", "1 4", "12 3", "6 2 1 2"]; // beside the colours, which not everybody tells apart
const view = { axis: "step", smooth: false, log: false, shown: data.runs.map(() => true) };

function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children); // strings become text, never markup
  return made;
}

function shape(name, attributes = {}, ...children) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

const colour = (run) => `var(--r${run % 8})`;
const dash = (run) => DASHES[(run + Math.floor(run / 8)) % DASHES.length];

function swatch(run) {
  const line = shape("line", { x1: 0, x2: 24, y1: 5, y2: 5, "stroke-width": 3, "stroke-dasharray": dash(run), style: `stroke:${colour(run)}` });
  return shape("svg", { viewBox: "0 0 24 10", width: "100%", height: 10, "aria-hidden": "true" }, line);
}

function compact(value) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  for (const [unit, suffix] of [[1e9, "G"], [1e6, "M"], [1e3, "k"]]) if (size >= unit) return trim((value / unit).toPrecision(3)) + suffix;
  if (size !== 0 && size < 1e-3) return value.toExponential(1).replace("e-", "e−");
  return trim(value.toPrecision(3));
}

const trim = (text) => (text.includes(".") && !text.includes("e") ? text.replace(/\.?0+$/, "") : text);

function clock(seconds) {
  const whole = Math.round(seconds), hours = Math.floor(whole / 3600), minutes = Math.floor(whole / 60) % 60;
  const two = (number) => String(number).padStart(2, "0");
  return hours ? `${hours}:${two(minutes)}:${two(whole % 60)}` : `${minutes}:${two(whole % 60)}`;
}

const along = { step: (x) => String(Math.round(x)), tokens: compact, seconds: clock }; // how a place on the axis is written
const placed = { step: (...range) => ticks(...range, 1), tokens: (...range) => ticks(...range, 1), seconds: timeTicks };
const axisName = { step: "step", tokens: "generated tokens", seconds: "time" };
const axisTitle = { step: "step", tokens: "generated tokens", seconds: "time (min:s, h:min:s)" };

// At most `most` round values from low to high, at least `least` apart.
function ticks(low, high, most, least = 0) {
  if (!(high > low)) return [low];
  const raw = Math.max(least, (high - low) / most), power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].find((factor) => factor * power >= raw * 0.999) * power;
  return every(step, low, high);
}

const TIMES = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200];

function timeTicks(low, high, most) {
  const raw = (high - low) / most;
  return every(TIMES.find((time) => time >= raw) || 86400 * Math.ceil(raw / 86400), low, high);
}

function every(step, low, high) {
  const found = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i += 1) found.push(i * step);
  return found;
}

// Of a logarithmic axis: powers of ten, and 2 and 5 times them where there are few. `low` and `high` are logarithms.
function powers(low, high) {
  const wide = high - low > 2, every = Math.ceil((high - low) / 5), found = [];
  for (let power = Math.floor(low); power <= high; power += wide ? every : 1) {
    for (const factor of wide ? [1] : [1, 2, 5]) found.push(factor * 10 ** power);
  }
  return found.filter((value) => Math.log10(value) >= low && Math.log10(value) <= high);
}

// Labels of an axis: one unit for all, and as many decimals as the ticks are apart.
function alike(values) {
  const size = Math.max(...values.map(Math.abs)), apart = values.length > 1 ? Math.abs(values[1] - values[0]) : size;
  const tiny = size !== 0 && size < 1e-4 ? Math.floor(Math.log10(size)) : null;
  const [unit, suffix] = tiny === null ? [[1e9, "G"], [1e6, "M"], [1e3, "k"]].find(([least]) => size >= least) || [1, ""] : [10 ** tiny, `e−${-tiny}`];
  const decimals = apart ? Math.min(6, Math.max(0, -Math.floor(Math.log10(apart / unit) + 1e-9))) : 0;
  return values.map((value) => (value === 0 ? "0" : (value / unit).toFixed(decimals).replace("-", "−") + suffix));
}

// A frame of axes inside `holder`; x and y map values to pixels. `yTitle` stands over the axis, where nothing else says what it is.
function frame(holder, { xs, ys, height = 184, log = false, xLabel = String, yLabels = alike, xTicks = ticks, xTitle, yTitle = "", label = "" }) {
  const forward = log ? Math.log10 : (value) => value;
  const [x0, x1] = xs, [y0, y1] = ys.map(forward);
  const yTicks = log ? powers(y0, y1) : ticks(y0, y1, 5), written = log ? yTicks.map(compact) : yLabels(yTicks);
  const left = 12 + 6.6 * Math.max(4, ...written.map((text) => text.length));
  const width = Math.max(220, holder.clientWidth || 300), right = 10, top = yTitle ? 24 : 8, bottom = 38;
  const x = (value) => left + ((value - x0) / (x1 - x0 || 1)) * (width - left - right);
  const y = (value) => height - bottom - ((forward(value) - y0) / (y1 - y0 || 1)) * (height - top - bottom);
  const svg = shape("svg", { viewBox: `0 0 ${width} ${height}`, height, role: "img", "aria-label": label });
  for (const [i, tick] of yTicks.entries()) {
    svg.append(shape("line", { class: "gridline", x1: left, x2: width - right, y1: y(tick), y2: y(tick) }));
    svg.append(shape("text", { x: left - 6, y: y(tick) + 4, "text-anchor": "end" }, written[i]));
  }
  if (yTitle) svg.append(shape("text", { x: 2, y: 12 }, yTitle));
  svg.append(shape("text", { x: (left + width - right) / 2, y: height - 4, "text-anchor": "middle" }, xTitle));
  for (const tick of xTicks(x0, x1, Math.floor((width - left) / 60))) {
    const place = x(tick), anchor = place > width - 30 ? "end" : "middle";
    svg.append(shape("text", { x: anchor === "end" ? width - 4 : place, y: height - 22, "text-anchor": anchor }, xLabel(tick)));
  }
  holder.replaceChildren(svg);
  return { svg, x, y, width, height, left, right, top, bottom, invert: (pixel) => x0 + ((pixel - left) / (width - left - right)) * (x1 - x0) };
}
