// Responses: searched by words, filtered by verdict and run.
const PAGE = 40;
const MARKS = { right: "✓ right", wrong: "✗ wrong" };
const filters = document.getElementById("filters");
let limit = PAGE;

function matching() {
  const form = new FormData(filters);
  const words = form.get("words").toLowerCase().split(/\s+/).filter(Boolean), verdicts = new Set(form.getAll("verdict")), run = form.get("run");
  const found = data.samples.filter((row) => {
    if (!verdicts.has(row.verdict) || (run && row.run !== Number(run))) return false;
    const text = `${row.prompt}\n${row.response}\n${row.answer}\n${row.prompt_id}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
  const order = { late: (a, b) => b.step - a.step, early: (a, b) => a.step - b.step, long: (a, b) => b.tokens - a.tokens }[form.get("order")];
  return [found.sort(order), words];
}

// `text` as nodes, with the words marked.
function marked(text, words) {
  if (!words.length) return [text];
  const pattern = new RegExp(words.map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("|"), "gi");
  const nodes = [];
  let from = 0;
  for (const match of text.matchAll(pattern)) {
    nodes.push(text.slice(from, match.index), element("mark", {}, match[0]));
    from = match.index + match[0].length;
  }
  return [...nodes, text.slice(from)];
}

function sample(row, words) {
  const cell = (label, text) =>
    element("div", {}, element("div", { class: "label" }, label), element("div", { class: "words", tabindex: text.length > 300 ? 0 : -1 }, ...marked(text, words)));
  const facts = [
    element("span", { class: "verdict" }, MARKS[row.verdict] || `? ${row.verdict}`),
    element("span", {}, `step ${row.step}`),
    element("span", {}, `reward ${row.reward === null ? "–" : compact(row.reward)}`),
    element("span", {}, `${row.tokens} tokens${row.finish_reason === "length" ? ", cut off" : ""}`),
    element("span", {}, ...marked(row.prompt_id ?? "", words), ` draw ${row.draw}`),
  ];
  if (data.runs.length > 1) facts.splice(1, 0, element("span", {}, data.runs[row.run].name));
  const cells = [cell("prompt", row.prompt), cell("response", row.response), cell("answer", row.answer)];
  const known = row.verdict in MARKS ? row.verdict : "unknown";
  return element("article", { class: `sample ${known}` }, element("div", { class: "facts" }, ...facts), ...cells);
}

function showSamples() {
  const [found, words] = matching();
  document.getElementById("found").textContent = `${found.length} of ${data.samples.length} responses.`;
  document.getElementById("rows").replaceChildren(...found.slice(0, limit).map((row) => sample(row, words)));
  document.getElementById("more").hidden = found.length <= limit;
}

function startSamples() {
  const counts = new Map();
  for (const row of data.samples) counts.set(row.verdict, (counts.get(row.verdict) || 0) + 1);
  for (const [verdict, count] of [...counts].sort()) {
    const box = element("input", { type: "checkbox", name: "verdict", value: verdict, checked: "" });
    document.getElementById("verdicts").append(element("label", {}, box, `${MARKS[verdict] || verdict} (${count})`));
  }
  filters.addEventListener("input", () => ((limit = PAGE), showSamples()));
  filters.addEventListener("submit", (event) => event.preventDefault());
  document.getElementById("more").addEventListener("click", () => ((limit += PAGE), showSamples()));
  showSamples();
}
