// The parameters: their importance for each objective, and all trials as lines over them.

const MOST_AXES = 14;
const MOST_BARS = 20;
const MOST_LINES = 600;

function startParameters() {
  listen("parallel-colour", () => drawAgain("parallel"));
  listen("parallel-front", () => drawAgain("parallel"));
  addPlot("importance", drawImportance);
  addPlot("parallel", drawParallel);
}

function showParameters() {
  fill("parallel-colour", [...shown.objectives.map(({ metric }) => [metric, label(metric)]), ["iteration", "iteration"]], shown.objectives[0]?.metric);
  const first = shown.importance[0];
  byId("importance-text").textContent = first
    ? "How much each parameter decides whether a trial is among the best tenth for an objective (PED-ANOVA over " +
      counted(first.trials, "trial") + " of " + epochs(first.epochs) + "); the shares of an objective sum to 1."
    : "";
  foldWithout("importance", first ? "" : importanceProblem(shown));
}

function importanceProblem(run) {
  return "Too few trials: importance needs at least " + run.fewest_ranked + " successful trials of one budget.";
}

/// Returns the parameters, the most important first.
function rankedParameters(run) {
  const weight = (index) => run.importance.reduce((sum, entry) => sum + entry.importance[index], 0);
  return run.parameters.map((_, index) => index).sort((a, b) => weight(b) - weight(a));
}

function drawImportance() {
  const run = shown;
  if (run.importance.length === 0) return importanceProblem(run);
  const order = rankedParameters(run).slice(0, MOST_BARS).reverse();
  const names = order.map((index) => escaped(run.parameters[index].name));
  const height = Math.max(180, 70 + order.length * (10 + 14 * run.importance.length));
  PLOTS.get("importance").element.style.height = height + "px";
  return {
    data: run.importance.map((entry, i) => ({
      type: "bar", orientation: "h", name: escaped(label(entry.metric)), y: names, x: order.map((index) => entry.importance[index]),
      marker: { color: colours()[i % 7] }, hovertemplate: "%{y}: %{x:.3f}<extra>" + escaped(label(entry.metric)) + "</extra>",
    })),
    layout: layout({
      barmode: "group", bargap: 0.25, showlegend: true, legend: { ...layout().legend, traceorder: "normal" }, margin: { l: 60, r: 16, t: 34, b: 44 },
      xaxis: axis("importance (share)", { rangemode: "tozero" }), yaxis: axis("", { type: "category" }),
    }),
  };
}

/// Returns the axis of a parameter in the parallel coordinates: its values, and the lowest place for "not used".
/// @param most  number of letters of its name
function parameterAxis(parameter, rows, most) {
  const unused = rows.some((row) => parameter.choices[row] < 0);
  const stride = Math.ceil(parameter.values.length / 9);
  const places = parameter.values.map((_, i) => i).filter((i) => i % stride === 0);
  return {
    label: escaped(shortened(parameter.name, most)), values: rows.map((row) => parameter.choices[row]),
    range: [unused ? -1 : 0, Math.max(parameter.values.length - 1, 1)],
    tickvals: [...(unused ? [-1] : []), ...places], ticktext: [...(unused ? ["unused"] : []), ...places.map((i) => escaped(shortened(String(parameter.values[i]), 14)))],
  };
}

function shortened(text, most) { return text.length > most ? text.slice(0, most - 1) + "…" : text; }

/// Returns the axis of a metric, logarithmic for costs that differ by orders of magnitude.
function metricAxis(run, metric, rows) {
  const isLog = spansDecades(metric);
  const values = rows.map((row) => (isLog ? Math.log10(run.value(metric, row)) : run.value(metric, row)));
  const [low, high] = extent(values);
  const ticks = Array.from({ length: 5 }, (_, i) => low + ((high - low) * i) / 4);
  const text = (value) => number(Number(value.toPrecision(3))).replace(/\.?0+( |$)/, (_, end) => end);
  return { label: escaped(label(metric)), values, tickvals: ticks, ticktext: ticks.map((value) => text(isLog ? 10 ** value : value)) };
}

/// Returns the front and an evenly spread part of the other trials, because more lines would hide each other.
function sampled(run, rows) {
  const others = rows.filter((row) => !run.onFront(row));
  const stride = Math.ceil(others.length / MOST_LINES);
  return [...others.filter((_, i) => i % stride === 0), ...rows.filter((row) => run.onFront(row))];
}

function drawParallel() {
  const run = shown;
  if (!hasWebGL()) return "Parallel coordinates need WebGL, which this browser does not offer.";
  const metrics = run.objectives.map(({ metric }) => metric);
  let rows = (byId("parallel-front").checked ? run.frontRows : run.searched)
    .filter((row) => run.ok(row) && metrics.every((metric) => run.value(metric, row) !== null));
  if (rows.length === 0) return "No trial has a value for each objective.";
  rows = sampled(run, rows);
  const searched = rankedParameters(run).map((index) => run.parameters[index]).filter(({ values }) => values.length > 1);
  const parameters = searched.slice(0, MOST_AXES);
  const colour = byId("parallel-colour").value;
  const isSlanted = parameters.length + metrics.length > 8;
  const dimensions = [...parameters.map((parameter) => parameterAxis(parameter, rows, isSlanted ? 32 : 18)), ...metrics.map((metric) => metricAxis(run, metric, rows))];
  const isSample = rows.length < run.searched.filter((row) => run.ok(row)).length && !byId("parallel-front").checked;
  byId("parallel-text").textContent = (isSample ? "Shown are the front and a sample of the other trials. " : "") +
    (parameters.length < searched.length ? "Shown are " + parameters.length + " of " + searched.length + " parameters" + (run.importance.length ? ", the most important ones. " : ". ") : "");
  const { element } = PLOTS.get("parallel");
  element.style.minWidth = (isSlanted ? 70 : 110) * dimensions.length + "px";
  if (element.clientWidth > element.parentElement.clientWidth) byId("parallel-text").append("Scroll to the right for more axes.");
  const logged = metrics.includes(colour) && spansDecades(colour);
  const best = run.objectives.find(({ metric }) => metric === colour);
  const values = rows.map((row) => (logged ? Math.log10(run.value(colour, row)) : run.value(colour, row)));
  return {
    data: [{
      type: "parcoords", dimensions, labelside: "top", labelangle: isSlanted ? -20 : 0,
      line: { color: values, colorscale: scale(), reversescale: best !== undefined && !best.maximize, showscale: true, colorbar: { title: { text: escaped((logged ? "log10 " : "") + label(colour)), side: "right" }, thickness: 12, outlinewidth: 0 } },
      labelfont: { color: css("text"), size: 12 }, tickfont: { color: css("text"), size: 11, shadow: ["1px 1px", "-1px 1px", "1px -1px", "-1px -1px"].map((place) => place + " 2px " + css("card")).join(", ") }, rangefont: { color: "rgba(0,0,0,0)", size: 1 },
      unselected: { line: { color: css("quiet"), opacity: 0.12 } },
    }],
    layout: layout({ margin: { l: 50, r: 40, t: isSlanted ? 96 : 46, b: 20 } }),
  };
}

SECTIONS.push({ start: startParameters, show: showParameters });
