// The plots of the page: each is drawn when it first comes into view, and again when its data have changed.

const PLOTS = new Map();  // name -> {element, draw, drawn}

/// Tested when a plot needs it, because a browser that draws by software takes long to start it.
let webGL;
function hasWebGL() {
  try { webGL ??= Boolean(document.createElement("canvas").getContext("webgl")); } catch { webGL = false; }
  return webGL;
}

const watcher = new IntersectionObserver((entries) => {
  for (const entry of entries) if (entry.isIntersecting) drawNow(entry.target.dataset.plot);
}, { rootMargin: "300px" });

/// @param draw  returns {data, layout}, or a text that says why there is nothing to draw
function addPlot(name, draw, listeners = {}) {
  const element = document.querySelector('[data-plot="' + name + '"]');
  PLOTS.set(name, { element, draw, listeners, drawn: false });
  const saves = saveButtons(["PNG", "SVG"], name,
    (kind) => Plotly.downloadImage(element, { ...sizeOf(element), ...pictureOf(kind), filename: "skyline-" + name }));
  saves.id = "save-" + name;
  const frame = element.parentElement.classList.contains("scroll-x") ? element.parentElement : element;
  const before = frame.previousElementSibling;
  if (before.classList.contains("controls")) before.append(saves); else frame.before(make("div", { class: "controls" }, saves));
}

/// Begins to draw; called when the library is loaded.
function startPlots() {
  for (const { element } of PLOTS.values()) watcher.observe(element);
}

function sizeOf(element) { return { width: element.clientWidth, height: element.clientHeight }; }
function pictureOf(kind) { return kind === "PNG" ? { format: "png", scale: 2 } : { format: "svg" }; }

function saveButtons(kinds, name, save) {
  return make("div", { class: "saves", role: "group" }, ...kinds.map((kind) => make(
    "button", { type: "button", onclick: () => save(kind), "aria-label": "Save the plot " + name + " as " + kind }, "Save " + kind)));
}

function drawNow(name) {
  const plot = PLOTS.get(name);
  if (plot.drawn) return;
  plot.drawn = true;
  const figure = plot.draw();
  byId("save-" + name).hidden = typeof figure === "string";
  if (typeof figure === "string") {
    Plotly.purge(plot.element);
    plot.element.replaceChildren(make("div", { class: "empty" }, make("span", {}, figure)));
    return;
  }
  if (plot.element.firstElementChild?.className === "empty") plot.element.replaceChildren();
  const isFirst = !plot.element.classList.contains("js-plotly-plot");
  Plotly.react(plot.element, figure.data, figure.layout, { responsive: true, displayModeBar: false, doubleClick: "reset" });
  if (!isFirst) Plotly.Plots.resize(plot.element);  // it may have been drawn while its section was folded
  if (plot.listening) return;
  plot.listening = true;
  for (const [event, listener] of Object.entries(plot.listeners)) plot.element.on(event, listener);
}

function isNear(element) {
  if (element.closest("details:not([open])")) return false;
  const box = element.getBoundingClientRect();
  return box.top < innerHeight + 300 && box.bottom > -300;
}

/// Draws plots again: at once if they are in view, otherwise when they come into view.
function drawAgain(...names) {
  if (typeof Plotly === "undefined") return;
  for (const name of names.length ? names : PLOTS.keys()) {
    const plot = PLOTS.get(name);
    plot.drawn = false;
    if (isNear(plot.element)) { drawNow(name); } else { watcher.unobserve(plot.element); watcher.observe(plot.element); }
  }
}

function drawAll() {
  for (const [name, plot] of PLOTS) { plot.drawn = false; drawNow(name); }
}

/// Returns a scatter trace, drawn by WebGL if there are many points and WebGL exists.
const MOST_SVG_POINTS = 2500;
function scatter(trace) {
  const many = trace.x.length > MOST_SVG_POINTS;
  return { type: many && hasWebGL() ? "scattergl" : "scatter", mode: "markers", hoverinfo: "none", ...trace };
}

// The note beside the pointer.
function showTip(title, pairs, event) {
  const tip = byId("tip");
  const list = make("dl");
  for (const [name, text] of pairs) list.append(make("dt", {}, name), make("dd", {}, text));
  tip.replaceChildren(make("b", {}, title), list);
  tip.hidden = false;
  const x = event?.clientX ?? innerWidth / 2, y = event?.clientY ?? 80;
  tip.style.left = Math.max(8, Math.min(x + 14, innerWidth - tip.offsetWidth - 8)) + "px";
  tip.style.top = (y + 18 + tip.offsetHeight > innerHeight ? Math.max(8, y - tip.offsetHeight - 10) : y + 18) + "px";
}
function hideTip() { byId("tip").hidden = true; }

/// Returns the lines about a trial.
function trialPairs(run, row) {
  const names = [...run.objectives.map(({ metric }) => metric), ...(run.test_metric ? [run.test_metric] : [])];
  const pairs = names.filter((metric, i) => i < run.objectives.length || run.value(metric, row) !== null).map((metric) => [label(metric), run.textOf(metric, row)]);
  const used = run.parameters.filter((parameter) => run.parameterValue(parameter, row) !== null);
  const most = Math.max(0, 16 - pairs.length);
  for (const parameter of used.slice(0, most)) pairs.push([parameter.name, String(run.parameterValue(parameter, row))]);
  if (used.length > most) pairs.push(["further parameters", used.length - most + " more: skyline show " + quoted(run.path) + " --trial " + run.number(row)]);
  pairs.push(["trained for", epochs(run.trials.epochs[row])], ["architecture", run.trials.arch[row]]);
  const weights = run.weights[run.number(row) + (run.trials.final[row] ? ".final" : "")];
  if (run.has_network) pairs.push(["weights", weights ?? "not kept"]);
  return pairs;
}

/// Adds listeners to a plot whose points carry [run, row].
const TRIAL_LISTENERS = {
  plotly_hover: (event) => {
    const place = event.points[0].customdata;
    if (!place) return;
    const run = RUNS[place[0]];
    showTip((RUNS.length > 1 ? run.name + ", " : "") + run.nameOf(place[1]), trialPairs(run, place[1]), event.event);
  },
  plotly_unhover: hideTip,
  plotly_click: (event) => {
    const place = event.points[0].customdata;
    if (place) select(place[0], RUNS[place[0]].number(place[1]), true);
  },
};
