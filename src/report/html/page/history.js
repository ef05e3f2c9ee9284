// The history of the front: its volume over trials and time, the front itself after some iterations, and what the
// search expected of its trials.

function startHistory() {
  listen("volume-x", () => drawAgain("volume"));
  addPlot("volume", drawVolume);
  addPlot("evolution", drawEvolution, TRIAL_LISTENERS);
  addPlot("predictions", drawPredictions, TRIAL_LISTENERS);
}

/// Returns the trials that were predicted and have a result.
function predictedRows(run) {
  const { metric, values } = run.trials.expected ?? { values: [] };
  return run.searched.filter((row) => values[row] && run.value(metric, row) !== null);
}

function showPredictions() {
  const rows = predictedRows(shown);
  hideSection("predictions", rows.length === 0);
  if (rows.length === 0) return;
  const { metric, values } = shown.trials.expected;
  const within = rows.filter((row) => { const [low, , high] = values[row]; const value = shown.value(metric, row); return low <= value && value <= high; });
  byId("predictions-text").textContent = "What the search expected of the " + label(metric) + " of " + counted(rows.length, "trial") + " when it chose them, beside what they measured. " +
    "Bars reach one standard deviation either way; " + within.length + " of the values lie within, about two thirds if the model judges well.";
}

function drawPredictions() {
  const rows = predictedRows(shown);
  if (rows.length === 0) return "Nothing was predicted.";
  const { metric, values } = shown.trials.expected;
  const place = RUNS.indexOf(shown);
  const expected = rows.map((row) => values[row]);
  const x = expected.map(([, value]) => value), y = rows.map((row) => shown.value(metric, row));
  const [low, high] = extent([...x, ...y]);
  return {
    data: [{ type: "scatter", mode: "lines", x: [low, high], y: [low, high], hoverinfo: "skip", line: { color: css("quiet"), width: 1.5, dash: "dash" } },
      { ...scatter({ x, y, customdata: rows.map((row) => [place, row]), marker: { color: colours()[0], size: 6, opacity: 0.7 } }),
        error_x: { type: "data", symmetric: false, array: expected.map(([, value, most]) => most - value), arrayminus: expected.map(([least, value]) => value - least), thickness: 1, width: 0, color: colours()[0] + "55" } }],
    layout: layout({ hovermode: "closest", xaxis: axis("predicted " + label(metric)), yaxis: axis("measured") }),
  };
}

function showHistory() {
  const bands = GROUPS.some(({ runs }) => runs.length > 1) ? ". Lines are means over the runs of a group, bands reach from the least to the most of them." : "";
  byId("volume-text").textContent = shown.volume.text + bands;
  const [low, high] = extent(shown.volume.volume);
  const changes = RUNS.length > 1 || shown.volume.volume.length < 2 ? Infinity : high - low;
  foldWithout("volume", low > high ? "none" : changes < 0.005 ? "nearly the same after every trial: " + shown.volume.volume.at(-1).toFixed(4) : "");
  const fronts = new Set(shown.evolution.map(({ front }) => front.join()));
  foldWithout("evolution", fronts.size > 1 ? "" : "the front has not changed since the first trials");
  const ends = shown.evolution;
  byId("evolution-text").textContent = ends.length === 0 ? ""
    : ends[0].iteration === undefined || new Set(ends.map(({ iteration }) => iteration)).size < ends.length ? "The front after some of the trials, from light to dark, the latest one in orange."
      : "The front at the end of iterations, from light to dark, the latest one in orange.";
}

const MOST_NAMED = 8;  // runs of a group in a cell

/// Compares the numbers of several runs, in groups that differ in more than the seed.
function showComparison() {
  const section = byId("comparison");
  section.hidden = DATA.comparison === null;
  if (section.hidden) return;
  const { problem, trials, groups, quantities } = DATA.comparison;
  byId("comparison-text").textContent = problem ?? "Runs that differ in their seed alone are a group: its mean and the mean's 95 % interval, after the first " +
    counted(trials, "trial") + " of each search." + (quantities?.some(({ tests }) => tests.length > 0) ? " p is that of the two-sided test of Mann and Whitney: small where groups differ by more than chance." : "");
  const named = (name) => name.replaceAll("_", " ") + (name.startsWith("best ") ? " of the search" : "");
  const text = (name, value) => amount(name.replace(/^best /, ""), value);
  const interval = (name, { value, margin }) => (margin === null ? "–" : margin === 0 ? "all equal" : text(name, value - margin) + " to " + text(name, value + margin));
  const each = ({ name, values }, group) => GROUPS[group].runs.slice(0, MOST_NAMED).map((run) => RUNS[run].name + " " + text(name, values[run])).join(", ") + (GROUPS[group].runs.length > MOST_NAMED ? ", ..." : "");
  const means = problem ? [] : quantities.flatMap((quantity) => quantity.means.map((mean, i) => [named(quantity.name),
    groups[i].name, String(mean.count), text(quantity.name, mean.value), interval(quantity.name, mean), mean.count > 1 ? each(quantity, i) : ""]));
  plainTable("means", ["quantity", "group", "runs", "mean", "95 % interval", "each run"], means, 5);
  const tests = problem ? [] : quantities.flatMap(({ name, tests: all }) => all.map(({ left, right, u, p }) => [named(name), groups[left].name, groups[right].name, String(u), p.toPrecision(3)]));
  plainTable("tests", ["quantity", "group", "against", "U", "p"], tests);
}

/// Returns the volumes of a group's runs at the same places, until the first of them ends: their mean, the least and the most.
function volumesOf(group, over) {
  const curves = group.runs.map((i) => RUNS[i].volume).filter((volume) => volume[over].length > 0);
  const end = Math.min(...curves.map((volume) => volume[over].at(-1)));
  const x = [...new Set(curves.flatMap((volume) => volume[over]))].filter((place) => place <= end).sort((a, b) => a - b);
  const columns = curves.map((volume) => {
    let done = 0;  // points at or before the place
    return x.map((place) => { while (done < volume[over].length && volume[over][done] <= place) ++done; return done === 0 ? 0 : volume.volume[done - 1]; });
  });
  const ofAll = (take) => x.map((_, i) => take(columns.map((column) => column[i])));
  return { x, mean: ofAll((values) => values.reduce((sum, value) => sum + value, 0) / values.length), least: ofAll((values) => Math.min(...values)), most: ofAll((values) => Math.max(...values)) };
}

function volumeTraces(group, index, over) {
  const { x, mean, least, most } = volumesOf(group, over);
  if (x.length === 0) return [];
  const colour = runColour(group.runs[0], 0);
  const edge = { type: "scatter", mode: "lines", x, hoverinfo: "skip", showlegend: false, meta: "band", legendgroup: String(index), line: { width: 0, shape: "hv" } };
  const band = group.runs.length < 2 ? [] : [{ ...edge, y: least }, { ...edge, y: most, fill: "tonexty", fillcolor: colour + "2e" }];
  return [...band, {
    type: "scatter", mode: "lines+markers", name: escaped(group.name), meta: "mean", legendgroup: String(index), x, y: mean,
    line: { color: colour, width: 2, shape: "hv" }, marker: { size: x.length > 40 ? 1 : 4 }, hovertemplate: "%{y:.4f} after %{x:.4~r} " + over + "<extra></extra>",
  }];
}

function drawVolume() {
  const over = byId("volume-x").value;
  const data = GROUPS.flatMap((group, i) => volumeTraces(group, i, over));
  if (data.length === 0) return "There is no volume to draw.";
  return {
    data,
    layout: layout({
      showlegend: RUNS.length > 1, margin: { l: 60, r: 16, t: RUNS.length > 1 ? 34 : 12, b: 48 },
      xaxis: axis(over === "hours" ? "time (hours)" : "search trials"), yaxis: axis("hypervolume (share of the box)", { rangemode: "nonnegative" }),
    }),
  };
}

function drawEvolution() {
  const run = shown;
  const [up, across] = [run.objectives[0]?.metric, run.objectives[1]?.metric];
  const fronts = run.evolution.filter((entry) => entry.front.length > 0);
  if (fronts.length === 0) return "No front yet.";
  if (!across) return drawBest(run, fronts, up);
  const isByIteration = new Set(fronts.map(({ iteration }) => iteration)).size === fronts.length;
  const colour = (i) => (i === fronts.length - 1 ? colours()[1] : shade((i + 1) / fronts.length));
  const runIndex = RUNS.indexOf(run);
  const scales = [across, up].map((metric) => scaleOf(metric, wantsLog(metric)));
  const data = fronts.map((entry, i) => {
    const trace = points(runIndex, entry.front.map((number) => run.rowOf.get(number)), [across, up], scales.map(({ place }) => place));
    const order = trace.x.map((_, index) => index).sort((a, b) => trace.x[a] - trace.x[b]);
    const name = entry.iteration === undefined || !isByIteration ? "after " + counted(entry.trials, "trial") : "iteration " + entry.iteration;
    const lines = run.objectives.length === 2 ? "lines+markers" : "markers";
    return {
      type: "scatter", mode: lines, name, hoverinfo: "none",
      x: order.map((index) => trace.x[index]), y: order.map((index) => trace.y[index]), customdata: order.map((index) => trace.customdata[index]),
      line: { color: colour(i), width: i === fronts.length - 1 ? 2 : 1.4, shape: run.objectives[1].maximize ? "vh" : "hv" },
      marker: { color: colour(i), size: 5 },
    };
  });
  return {
    data,
    layout: layout({
      showlegend: true, hovermode: "closest", legend: { ...layout().legend, orientation: "v", x: 1.01, y: 1, yanchor: "top" },
      xaxis: axis(label(across), scales[0].axis), yaxis: axis(label(up), scales[1].axis),
      ...(innerWidth < 600 ? { showlegend: false } : {}),
    }),
  };
}

/// Draws the best value, because a front of one objective has a single value.
function drawBest(run, fronts, metric) {
  const best = fronts.map((entry) => run.value(metric, run.rowOf.get(entry.front[0])));
  return {
    data: [{ type: "scatter", mode: "lines+markers", x: fronts.map((entry) => entry.trials), y: best, line: { color: colours()[0], shape: "hv", width: 2 },
      hovertemplate: "%{y:.4~r} after %{x} trials<extra></extra>" }],
    layout: layout({ xaxis: axis("search trials"), yaxis: axis("best " + label(metric)) }),
  };
}

SECTIONS.push({ start: startHistory, show: showHistory }, { show: showPredictions }, { start: showComparison });
