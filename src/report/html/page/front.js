// The front: trials over two or three of the objectives or other metrics.

const MOST_DIMMED = 4000;  // number of points without WebGL
const MOST_LABELS = 40;    // number of points that carry their trial's number

function frontMetrics() {
  const names = new Set(["trial"]);
  for (const run of RUNS) {
    for (const { metric } of run.objectives) names.add(metric);
    for (const metric of run.metrics) names.add(metric);
  }
  return [...names];
}

function startFront() {
  const objectives = RUNS[0].objectives.map(({ metric }) => metric);
  const metrics = frontMetrics().map((metric) => [metric, label(metric)]);
  const up = objectives[0], across = objectives[1] ?? "trial";
  fill("front-x", metrics, across);
  fill("front-y", metrics, up);
  fill("front-z", metrics, objectives[2] ?? across);
  const parameters = [...new Set(RUNS.flatMap((run) => run.parameters.map(({ name }) => name)))];
  fill("front-colour", [["", RUNS.length === 1 ? "plain" : GROUPS.length < RUNS.length ? "by group" : "by run"], ...(RUNS.length > 1 && GROUPS.length < RUNS.length ? [["run", "by run"]] : []), ["iteration", "iteration"], ["epochs", "epochs"],
    ...parameters.map((name) => ["=" + name, name]), ...metrics.filter(([metric]) => metric !== "trial")], RUNS.length > 1 && GROUPS.length === 1 ? "run" : "");
  const three = objectives.length > 2 && hasWebGL();
  byId("front-3d-choice").hidden = !three;
  if (three && kept.get("front-3d") === null) byId("front-3d").checked = true;
  byId("front-labels").parentElement.hidden = RUNS.length > 1;
  byId("front-final-choice").hidden = RUNS.every((run) => run.trained.length === 0);
  byId("front-search-choice").hidden = !RUNS.some((run) => run.hasFinalFront);
  byId("front-log").checked = wantsLog(across);
  byId("front-log-up").checked = wantsLog(up);
  const changed = () => { byId("front-z-choice").hidden = !byId("front-3d").checked; drawAgain("front"); };
  for (const id of ["front-z", "front-colour", "front-dominated", "front-search", "front-final", "front-labels", "front-log", "front-log-up", "front-3d"]) listen(id, changed);
  for (const [id, log] of [["front-x", "front-log"], ["front-y", "front-log-up"]]) {
    listen(id, () => { byId(log).checked = wantsLog(byId(id).value); changed(); });
  }
  byId("front-z-choice").hidden = !byId("front-3d").checked;
  addPlot("front", drawFront, TRIAL_LISTENERS);
}

/// Returns whether a metric is a share that is better the nearer it is to 1, as an accuracy is.
function nearsOne(metric) { return described(metric).share && described(metric).higher; }

/// Returns the least error above 0 of such a metric in the runs.
const leastErrors = new Map();
function leastError(metric) {
  if (!leastErrors.has(metric)) {
    const values = RUNS.flatMap((run) => run.trials.metrics[metric] ?? []);
    const [least] = extent(values.map((value) => (value !== null && value < 1 ? 1 - value : null)));
    leastErrors.set(metric, Number.isFinite(least) ? least : 1e-3);
  }
  return leastErrors.get(metric);
}

/// Returns whether the values are above 0 and differ by orders of magnitude.
function spansDecades(metric) {
  const [low, high] = extent(RUNS.flatMap((run) => run.searched.map((row) => run.value(metric, row))));
  return metric !== "trial" && low > 0 && high / low > 30;
}

/// Returns whether a logarithmic scale shows the front better: of costs that span decades, or of shares whose errors do.
function wantsLog(metric) {
  if (nearsOne(metric)) {
    const errors = RUNS.flatMap((run) => run.bestRows.map((row) => 1 - run.value(metric, run.resultOf(row)))).filter((error) => error > 0);
    return Math.min(...errors) < 0.1 && Math.max(...errors) > 10 * Math.min(...errors);
  }
  return spansDecades(metric);
}

/// Returns how an axis shows a metric: plainly, by the logarithm, or for a share by the logarithm of its error, which
/// keeps values near 1 apart. `place` gives the value that is drawn.
function scaleOf(metric, isLog) {
  if (!isLog) return { place: (value) => value, axis: { type: "linear" } };
  if (!nearsOne(metric)) return { place: (value) => value, axis: { type: "log", dtick: "D2" } };
  const least = leastError(metric) / 2;
  const place = (value) => -Math.log10(Math.max(1 - value, least));
  const digits = [0, 1, 2, 3, 4, 5].flatMap((power) => [1, 0.5, 0.2].map((error) => 1 - error * 10 ** -power)).filter((tick) => 1 - tick > least * 1.2);
  const ticks = [...digits, 1];
  return { place, axis: { type: "linear", tickvals: ticks.map(place), ticktext: ticks.map((tick) => String(Number(tick.toPrecision(7)))) } };
}

/// Returns the metrics on the axes; the last one points up.
function frontAxes() {
  const three = byId("front-3d").checked && !byId("front-3d-choice").hidden;
  return ["front-x", ...(three ? ["front-z"] : []), "front-y"].map((id) => byId(id).value);
}

/// Returns whether an axis is logarithmic; the one that points up has its own choice.
function isLogAxis(index, axes) {
  return (index === 0 && byId("front-log").checked) || (index === axes.length - 1 && byId("front-log-up").checked);
}

function frontPlaces(axes) { return axes.map((metric, i) => scaleOf(metric, isLogAxis(i, axes)).place); }

/// @param places  gives the value that is drawn, for each axis
function points(runIndex, rows, axes, places = frontPlaces(axes)) {
  const run = RUNS[runIndex];
  const there = rows.filter((row) => axes.every((metric) => run.value(metric, row) !== null));
  const trace = { customdata: there.map((row) => [runIndex, row]) };
  ["x", "y", "z"].slice(0, axes.length).forEach((name, i) => { trace[name] = there.map((row) => places[i](run.value(axes[i], row))); });
  return trace;
}

/// Returns the values that colour the points, or null for plain points.
function colourValues(runIndex, trace) {
  const choice = byId("front-colour").value;
  if (!choice || choice === "run") return null;
  const run = RUNS[runIndex];
  const rows = trace.customdata.map(([, row]) => row);
  if (!choice.startsWith("=")) return rows.map((row) => run.value(choice, row));
  const parameter = run.parameters.find(({ name }) => name === choice.slice(1));
  if (!parameter) return null;
  return rows.map((row) => isNumeric(parameter) ? run.parameterValue(parameter, row) : parameter.choices[row]);
}

function colourTitle() {
  const choice = byId("front-colour").value;
  return choice.startsWith("=") ? choice.slice(1) : label(choice);
}

function mark(trace, runIndex, marker) {
  const values = colourValues(runIndex, trace);
  if (!values) return { ...trace, marker };
  const [cmin, cmax] = extent(RUNS.flatMap((run, i) => colourValues(i, points(i, run.searched, frontAxes())) ?? []));
  const bar = { title: { text: escaped(colourTitle()), side: "right" }, thickness: 12, outlinewidth: 0, len: 0.9 };
  return { ...trace, marker: { ...marker, color: values, colorscale: scale(), cmin, cmax, colorbar: bar, showscale: marker.size > 7 } };
}

function thinned(rows) {
  if (rows.length <= MOST_DIMMED || hasWebGL()) return rows;
  const stride = Math.ceil(rows.length / MOST_DIMMED);
  return rows.filter((_, i) => i % stride === 0);
}

/// Returns the line of a front over two objectives: steps between its members, with corners that are worse in both.
function frontLine(run, trace, axes) {
  const named = axes.map((metric) => run.objectives.find((objective) => objective.metric === metric));
  if (axes.length !== 2 || run.objectives.length !== 2 || named.includes(undefined) || axes[0] === axes[1]) return null;
  const order = trace.x.map((_, i) => i).sort((a, b) => trace.x[a] - trace.x[b]);
  return {
    x: order.map((i) => trace.x[i]), y: order.map((i) => trace.y[i]),
    shape: named[0].maximize ? "vh" : "hv",
  };
}

/// Adds the trials' numbers to points, if they are few enough to be read.
function labelled(trace, runIndex) {
  if (!byId("front-labels").checked || trace.z || trace.x.length > MOST_LABELS || RUNS.length > 1) return trace;
  return { ...trace, mode: "markers+text", text: trace.customdata.map(([, row]) => String(RUNS[runIndex].number(row))), textposition: "top left", textfont: { size: 11, color: css("soft") }, cliponaxis: false };
}

/// Returns the colour and the name of a run's points, and whether they are the first ones of that name.
function dressOf(runIndex, alone) {
  const byRun = byId("front-colour").value === "run";
  return {
    colour: byRun ? colours()[runIndex % 7] : runColour(runIndex, alone),
    name: byRun ? RUNS[runIndex].name : GROUPS[groupOf(runIndex)].name,
    isFirst: byRun || isFirstOfGroup(runIndex),
  };
}

/// Returns e.g. " (10 epochs)" if these trials were all trained so long.
function budgetText(run, rows) {
  const all = new Set(rows.map((row) => run.trials.epochs[row]));
  return all.size === 1 && run.trained.length > 0 ? " (" + epochs([...all][0]) + ")" : "";
}

/// Returns whether a full training of the run succeeded and is not on the final front.
function hasOff(run) { return [...run.finalOf.values()].some((row) => run.ok(row) && !run.finalMembers.has(run.number(row))); }

/// Returns whether a whole trial of the run's search succeeded and is not on the search's front.
function hasDominated(run) { return run.searched.some((row) => run.ok(row) && run.isWhole(row) && !run.onFront(row)); }

/// Returns whether a trial of the run's search succeeded with fewer epochs than others.
function hasShorter(run) { return run.searched.some((row) => run.ok(row) && !run.isWhole(row)); }

/// Draws the full trainings: those on the final front filled and with a line, the others open.
function finalTraces(runIndex, axes, dressed) {
  const run = RUNS[runIndex];
  const many = RUNS.length > 1;
  const { colour, name: group, isFirst } = dressOf(runIndex, 1);
  const rows = [...run.finalOf.values()].filter((row) => run.ok(row));
  const on = points(runIndex, rows.filter((row) => run.finalMembers.has(run.number(row))), axes);
  const off = points(runIndex, rows.filter((row) => !run.finalMembers.has(run.number(row))), axes);
  const size = axes.length === 3 ? 5 : 10;
  const line = frontLine(run, on, axes);
  const traces = [];
  if (line) {
    traces.push({ type: "scatter", mode: "lines", x: line.x, y: line.y, hoverinfo: "skip", showlegend: false, meta: "line",
      line: { color: colour, width: 1.5, shape: line.shape, dash: many ? "dot" : "solid" } });
  }
  traces.push(dressed({ name: many ? escaped(group) + ", final front" : "final front" + budgetText(run, rows), legendgroup: group + ", final front", meta: "final", showlegend: isFirst, ...labelled(on, runIndex),
    marker: { size, symbol: "diamond", color: colour, line: { color: css("card"), width: 1 } } }));
  const disproved = dressed({ name: "not on the final front", meta: "trained", legendgroup: "off", showlegend: off.x.length > 0 && runIndex === RUNS.findIndex(hasOff), ...off,
    marker: { size, symbol: "diamond", color: css("card"), line: { color: colour, width: 1.5 } } });
  return [...traces.slice(0, -1), disproved, traces.at(-1)];
}

function tracesOf(runIndex, axes) {
  const run = RUNS[runIndex];
  const { colour, name: group, isFirst } = dressOf(runIndex, 0);
  const kind = axes.length === 3 ? { type: "scatter3d", mode: "markers", hoverinfo: "none" } : null;
  const dressed = (trace) => (kind ? { ...trace, ...kind } : scatter(trace));
  const traces = [];
  const showsSearch = !run.hasFinalFront || byId("front-search").checked || !byId("front-final").checked;
  if (byId("front-dominated").checked) {
    const rows = thinned(run.searched.filter((row) => run.ok(row) && !(showsSearch && run.onFront(row))));
    const whole = rows.filter((row) => run.isWhole(row));
    const dim = { size: kind ? 3 : 6, color: RUNS.length > 1 ? colour : css("soft"), opacity: 0.45 };
    const dimmed = (some, name, has, more) => traces.push(dressed({ name, meta: "dominated", legendgroup: has.name, showlegend: runIndex === RUNS.findIndex(has), ...mark(points(runIndex, some, axes), runIndex, { ...dim, ...more }) }));
    dimmed(whole, (showsSearch ? "dominated" : "trials of the search") + budgetText(run, whole), hasDominated, {});
    if (whole.length < rows.length) dimmed(rows.filter((row) => !run.isWhole(row)), "with fewer epochs", hasShorter, { symbol: "x", opacity: 0.3 });
  }
  const front = points(runIndex, showsSearch ? run.frontRows : [], axes);
  const line = frontLine(run, front, axes);
  if (line) {
    traces.push({ type: "scatter", mode: "lines", x: line.x, y: line.y, hoverinfo: "skip", showlegend: false, meta: "line",
      line: { color: colour, width: 1.5, shape: line.shape } });
  }
  const marker = { size: kind ? 6 : 9, color: colour, line: { color: css("card"), width: 1 } };
  traces.push(dressed({ name: RUNS.length > 1 ? escaped(group) : "front of the search" + budgetText(run, run.frontRows), legendgroup: group, meta: "front", showlegend: showsSearch && isFirst, ...mark(run.hasFinalFront ? front : labelled(front, runIndex), runIndex, marker) }));
  if (run.trained.length && byId("front-final").checked) traces.push(...finalTraces(runIndex, axes, dressed));
  return traces;
}

/// Shades the area in which a constraint is not met.
function constraintShapes(axes) {
  const shapes = [];
  const places = frontPlaces(axes);
  axes.slice(0, 2).forEach((metric, i) => {
    for (const { low, high } of RUNS[0].constraints.filter((constraint) => constraint.metric === metric)) {
      const [least, most] = extent(RUNS.flatMap((run) => run.searched.map((row) => run.value(metric, row))));
      const add = (...ends) => { const [from, to] = ends.map(places[i]); shapes.push({
        type: "rect", layer: "below", line: { width: 0 }, fillcolor: css("shade"), opacity: 0.13,
        ...(i === 0 ? { x0: from, x1: to, y0: 0, y1: 1, xref: "x", yref: "paper" } : { y0: from, y1: to, x0: 0, x1: 1, yref: "y", xref: "paper" }),
      }); };
      const far = Math.max(Math.abs(least), Math.abs(most), Math.abs(high ?? 0)) * 10;
      if (high !== null && most > high * 0.6) add(high, far);
      if (low !== null && low !== 0 && least < low * 1.5) add(isLogAxis(i, axes) ? Math.min(low, least) / 1e3 : -far, low);
    }
  });
  return shapes;
}

/// Returns the range of an axis: all points and a little room. It is set because shades would widen it.
function rangeOf(traces, name, isLog) {
  let [low, high] = extent(traces.flatMap((trace) => trace[name] ?? []).filter((value) => !isLog || value > 0));
  if (low > high) return undefined;
  if (isLog) [low, high] = [Math.log10(low), Math.log10(high)];
  const room = (high - low) * 0.05 || Math.abs(high) * 0.05 || 1;
  return [low - room, high + room];
}

function drawFront() {
  const axes = frontAxes();
  const traces = RUNS.flatMap((_, i) => tracesOf(i, axes));
  if (traces.every((trace) => trace.x.length === 0)) {
    return RUNS.every((run) => run.searched.length === 0) ? "No trial has been committed yet." : "No trial has values for these axes.";
  }
  const [x, y, z] = axes.map((metric) => label(metric));
  const scales = axes.map((metric, i) => scaleOf(metric, isLogAxis(i, axes)).axis);
  if (axes.length === 3) {
    const side = (title) => ({ ...axis(title), backgroundcolor: css("card"), automargin: undefined });
    const scene = { xaxis: { ...side(x), ...scales[0] }, yaxis: side(y), zaxis: { ...side(z), ...scales[2] }, aspectmode: "cube", camera: { eye: { x: 1.55, y: 1.55, z: 0.75 }, center: { x: 0, y: 0, z: -0.16 } } };
    return { data: traces, layout: layout({ scene, showlegend: true, margin: { l: 0, r: 0, t: 30, b: 0 } }) };
  }
  const shapes = constraintShapes(axes);
  if (shapes.length > 0) {
    traces.push({ type: "scatter", mode: "markers", x: [null], y: [null], name: "a constraint is not met", meta: "shade", hoverinfo: "skip",
      showlegend: true, marker: { symbol: "square", size: 12, color: css("shade"), opacity: 0.3 } });
  }
  return {
    data: traces,
    layout: layout({
      showlegend: true, margin: { l: 60, r: 16, t: 34, b: 48 }, hovermode: "closest", shapes,
      xaxis: axis(x, { ...scales[0], range: rangeOf(traces, "x", scales[0].type === "log") }), yaxis: axis(y, { ...scales[1], range: rangeOf(traces, "y", scales[1].type === "log") }),
    }),
  };
}

SECTIONS.push({ start: startFront });
