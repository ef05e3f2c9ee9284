// How trials learned, and when the slots worked.

const MOST_BARS_OF_TIME = 3000;  // with more trials the timeline shows shares
const TIME_STEPS = 240;
const MOST_NAMED_CURVES = 20;
const KINDS_OF_BAR = [["search", 0], ["full training", 1], ["pruned", 2], ["failed", 3], ["outside", 4]];

function startTime() {
  listen("curves-y", () => drawAgain("curves"));
  listen("curves-front", () => drawAgain("curves"));
  addPlot("curves", drawCurves, CURVE_LISTENERS);
  addPlot("timeline", drawTimeline, TRIAL_LISTENERS);
  addPlot("utilization", drawUtilization);
}

function showTime() {
  const curves = Object.keys(shown.courses[0] ?? {}).filter((name) => !["trial", "step"].includes(name) && shown.courses.some((course) => course[name].some((value) => value !== null)));
  const pointsOf = (name) => Math.max(...shown.courses.map((course) => course[name].filter((value) => value !== null).length));
  fill("curves-y", curves.map((name) => [name, label(name)]), curves.find((name) => name === shown.objectives[0].metric && pointsOf(name) > 1) ?? curves.find((name) => pointsOf(name) > 1) ?? curves[0]);
  foldWithout("curves", curves.length === 0 ? "none recorded" : "");
  byId("curves-y").parentElement.hidden = byId("curves-front").parentElement.hidden = curves.length === 0;
  byId("curves-text").textContent = shown.courses.length === 0 ? ""
    : "The courses of " + counted(shown.courses.length, "training") + " over their steps" +
      (shown.courses.length >= 200 ? ", those of the front first." : "; the front in colour.") + " Select one to see its trial.";
  showSlots();
}

const CURVE_LISTENERS = {
  plotly_hover: (event) => {
    const course = shown.courses.find(({ trial }) => trial === event.points[0].data.meta);
    const row = course && (course.trial.endsWith(".final") ? shown.finalOf : shown.rowOf).get(parseInt(course.trial, 10));
    if (row !== undefined) showTip(shown.nameOf(row), trialPairs(shown, row), event.event);
  },
  plotly_unhover: hideTip,
  plotly_click: (event) => select(RUNS.indexOf(shown), parseInt(event.points[0].data.meta, 10)),
};

/// Puts the names of lines that end at one place beside each other.
function joinNames(lines) {
  const [left, right] = extent(lines.flatMap(({ x }) => x)), [low, high] = extent(lines.flatMap(({ y }) => y));
  const named = lines.filter(({ text }) => text?.length > 0).sort((a, b) => a.y.at(-1) - b.y.at(-1));
  named.forEach((line, i) => {
    const near = named.slice(0, i).find((other) => other.text && line.y.at(-1) - other.y.at(-1) < 0.04 * (high - low) && Math.abs(line.x.at(-1) - other.x.at(-1)) < 0.05 * (right - left));
    if (!near) return;
    near.text[near.text.length - 1] += ", " + line.text.at(-1);
    line.text = undefined;
  });
}

function drawCurves() {
  const run = shown;
  if (run.courses.length === 0) return "No course is recorded: this evaluator reports none, or no trial has ended.";
  const metric = byId("curves-y").value;
  const scale = scaleOf(metric, nearsOne(metric) && wantsLog(metric));
  const members = run.hasFinalFront ? run.finalMembers : run.members;
  const onFront = (course) => members.has(parseInt(course.trial, 10)) && (course.trial.endsWith(".final") || !run.hasFinalFront);
  const alone = byId("curves-front").checked;
  const chosen = run.courses.filter((course) => !alone || onFront(course));
  const few = chosen.filter(onFront).length <= MOST_NAMED_CURVES;
  const data = chosen.map((course, i) => {
    const there = course.step.map((_, i) => i).filter((i) => course[metric]?.[i] !== null);
    const final = course.trial.endsWith(".final");
    const colour = !onFront(course) ? css("quiet") : few ? colours()[i % 7] : colours()[final ? 1 : 0];
    const named = few && onFront(course);
    return {
      type: "scatter", mode: (there.length > 1 ? "lines" : "markers") + (named ? "+text" : ""), meta: course.trial, hoverinfo: "none", name: course.trial,
      x: there.map((k) => course.step[k]), y: there.map((k) => scale.place(course[metric][k])),
      text: named ? there.map((k, at) => (at === there.length - 1 ? String(parseInt(course.trial, 10)) : "")) : undefined, textposition: "middle right", textfont: { size: 11, color: colour }, cliponaxis: false,
      line: { color: colour, width: onFront(course) ? 1.6 : 1 }, marker: { color: colour, size: 4 }, opacity: onFront(course) ? 0.9 : 0.4,
    };
  }).reverse();  // the front on top
  joinNames(data);
  const longest = Math.max(...data.map(({ text }) => text?.at(-1)?.length ?? 0));
  return { data, layout: layout({ margin: { ...layout().margin, r: 16 + 7 * longest }, hovermode: "closest", xaxis: axis("training step"), yaxis: axis(label(metric), scale.axis) }) };
}

/// Returns the slots that trained, as [rank, slot] with their rows.
function slotRows(run) {
  const slots = new Map();
  run.trials.number.forEach((_, row) => {
    const key = run.trials.rank[row] + "." + run.trials.slot[row];
    if (!slots.has(key)) slots.set(key, { rank: run.trials.rank[row], slot: run.trials.slot[row], rows: [] });
    slots.get(key).rows.push(row);
  });
  return [...slots.values()].sort((a, b) => a.rank - b.rank || a.slot - b.slot);
}

function slotName({ rank, slot }) { return "rank " + rank + " slot " + slot; }

/// Chooses hours, minutes or seconds for times.
function timeUnit(run) {
  const [, end] = extent(run.trials.start.map((start, row) => start + run.trials.seconds[row]));
  return end > 7200 ? ["hours", 3600] : end > 180 ? ["minutes", 60] : ["seconds", 1];
}

function drawTimeline() {
  const run = shown;
  if (run.trials.number.length === 0) return "No trial has been committed yet.";
  const slots = slotRows(run);
  PLOTS.get("timeline").element.style.height = Math.min(640, 90 + 24 * Math.min(slots.length, 24)) + "px";
  const base = { margin: { l: 90, r: 16, t: 34, b: 48 }, hovermode: "closest" };
  const [unit, seconds] = timeUnit(run);
  const across = axis("time (" + unit + ")");
  const up = axis("", { type: "category", autorange: "reversed", showgrid: false, ...(slots.length > 24 ? { nticks: 24 } : {}) });
  if (run.trials.number.length > MOST_BARS_OF_TIME) {
    const { steps, shares } = busyShares(run, slots, seconds);
    const data = [{ type: "heatmap", x: steps, y: slots.map(slotName), z: shares, zmin: 0, zmax: 1, colorscale: scale(), hovertemplate: "%{y}: %{z:.0%} busy<extra></extra>",
      colorbar: { title: { text: "busy", side: "right" }, tickformat: ".0%", thickness: 12, outlinewidth: 0 } }];
    return { data, layout: layout({ ...base, xaxis: across, yaxis: up }) };
  }
  const kindOf = (row) => (["pruned", "outside"].includes(run.trials.status[row]) ? run.trials.status[row] : !run.ok(row) ? "failed" : run.trials.final[row] ? "full training" : "search");
  const data = KINDS_OF_BAR.map(([kind, colour]) => {
    const rows = slots.flatMap((slot) => slot.rows.filter((row) => kindOf(row) === kind).map((row) => [slot, row]));
    return {
      type: "bar", orientation: "h", name: kind, hoverinfo: "none", y: rows.map(([slot]) => slotName(slot)),
      base: rows.map(([, row]) => run.trials.start[row] / seconds), x: rows.map(([, row]) => run.trials.seconds[row] / seconds),
      customdata: rows.map(([, row]) => [RUNS.indexOf(run), row]), marker: { color: colours()[colour], line: { color: css("card"), width: run.trials.number.length > 300 ? 0 : 0.6 } },
    };
  }).filter((trace) => trace.x.length > 0);
  return { data, layout: layout({ ...base, barmode: "overlay", bargap: 0.2, showlegend: true, xaxis: across, yaxis: up }) };
}

/// Returns for each slot the share of each time step in which it was busy.
function busyShares(run, slots, seconds) {
  const [, end] = extent(run.trials.start.map((start, row) => start + run.trials.seconds[row]));
  const width = (end || 1) / TIME_STEPS;
  const shares = slots.map(() => new Float64Array(TIME_STEPS));
  slots.forEach(({ rows }, index) => {
    for (const row of rows) {
      const from = run.trials.start[row], to = from + run.trials.seconds[row];
      for (let step = Math.floor(from / width); step < TIME_STEPS && step * width < to; ++step) {
        const covered = Math.min(to, (step + 1) * width) - Math.max(from, step * width);
        shares[index][step] = Math.min(1, shares[index][step] + Math.max(0, covered) / width);
      }
    }
  });
  return { steps: Array.from({ length: TIME_STEPS }, (_, step) => ((step + 0.5) * width) / seconds), shares: shares.map((row) => Array.from(row)) };
}

function drawUtilization() {
  const run = shown;
  if (run.trials.number.length === 0) return "No trial has been committed yet.";
  const slots = slotRows(run);
  const [unit, seconds] = timeUnit(run);
  const { steps, shares } = busyShares(run, slots, seconds);
  const used = steps.map((_, step) => shares.reduce((sum, row) => sum + row[step], 0) / slots.length);
  return {
    data: [{ type: "scatter", mode: "lines", x: steps, y: used, fill: "tozeroy", line: { color: colours()[0], width: 1.5 }, fillcolor: colours()[0] + "33", hovertemplate: "%{y:.0%}<extra></extra>" }],
    layout: layout({ margin: { l: 90, r: 16, t: 12, b: 48 }, xaxis: axis("time (" + unit + ")"), yaxis: axis("slots busy", { range: [0, 1.02], tickformat: ".0%" }) }),
  };
}

function showSlots() {
  const run = shown;
  const seconds = (slot) => slot.train_s + slot.validate_s + slot.latency_s;
  const parts = ["setup_s", "train_s", "validate_s", "latency_s", "wait_work_s", "wait_device_s", "wait_files_s", "wait_ranks_s"];
  const wall = (slot) => parts.reduce((sum, part) => sum + slot[part], 0);
  const all = run.slots.reduce((sum, slot) => ({ busy: sum.busy + seconds(slot), wall: sum.wall + wall(slot) }), { busy: 0, wall: 0 });
  byId("time-text").textContent = all.wall > 0
    ? "Slots computed for " + (100 * all.busy / all.wall).toFixed(1) + " % of their time (training, validation, latency), over all jobs of the run."
    : "The account of time is written with the results, every few minutes and at the end.";
  const columns = [["job", "job"], ["rank", "rank"], ["slot", "slot"], ["host", "host"], ["trials", "trials"], ["setup_s", "set-up"],
    ["train_s", "training"], ["validate_s", "validation"], ["latency_s", "latency"], ["wait_work_s", "wait: work"], ["wait_device_s", "wait: device"], ["wait_files_s", "wait: files"],
    ["wait_ranks_s", "wait: MPI"]];
  const cells = run.slots.slice(0, 200).map((slot) => columns.map(([key]) => (parts.includes(key) ? duration(slot[key]) : String(slot[key]))));
  plainTable("slots", columns.map(([, title]) => title), cells);
}

SECTIONS.push({ start: startTime, show: showTime });
