// The parts of the page that are text: head, failures, configuration, versions, warnings.

function showHead() {
  byId("title").textContent = RUNS.length > 1 ? counted(RUNS.length, "run") + " compared" : shown.name;
  document.title = "Skyline: " + RUNS.map((run) => run.name).join(", ");
  const fruitless = shown.state === "finished" && shown.missing_front !== null;
  byId("state").textContent = shown.state + (fruitless ? ", no front" : "");
  byId("state").dataset.state = fruitless ? "failed" : shown.state;
  byId("missing-front").textContent = shown.missing_front ?? "";
  const withStatus = (wanted) => shown.trials.status.filter((status) => status === wanted).length;
  const pruned = withStatus("pruned");
  const outside = withStatus("outside");
  const failed = shown.trials.status.length - withStatus("ok") - pruned - outside;
  const figures = [
    ["trials of the search", shown.searched.length.toLocaleString("en")], ["on the front of the search", shown.front.length.toLocaleString("en")],
    ...(shown.trained.length ? [["on the final front", shown.final_front.length.toLocaleString("en")]] : []),
    ["failed", failed.toLocaleString("en")],
    ...(pruned ? [["pruned", pruned.toLocaleString("en")]] : []),
    ...(outside ? [["outside of constraints", outside.toLocaleString("en")]] : []),
  ];
  const volume = shown.volume.volume.at(-1);
  if (volume !== undefined) figures.push(["hypervolume (share of the box)", volume.toFixed(4)]);
  const [, end] = extent(shown.trials.start.map((start, row) => start + shown.trials.seconds[row]));
  if (end > 0) figures.push(["time", duration(end)]);
  const lines = shown.notes.split("\n");
  const isWarning = (line) => line.startsWith("Warning");
  byId("alarm").textContent = lines.filter(isWarning).join(" ");
  byId("notes").replaceChildren(...lines.filter((line) => !isWarning(line)).map((line) => make("div", {}, line)));
  hideSection("failures", failed === 0);
  byId("figures").replaceChildren(...figures.map(([name, text]) => make("div", {}, make("dt", {}, name), make("dd", {}, text))));
}

function startPanels() {
  addPlot("failures", drawFailures);
}

function drawFailures() {
  const kinds = new Map();
  for (const { kind, count } of shown.failures) kinds.set(kind, (kinds.get(kind) ?? 0) + count);
  if (kinds.size === 0) return "No trial has failed.";
  PLOTS.get("failures").element.style.height = 90 + 34 * kinds.size + "px";
  return {
    data: [{ type: "bar", orientation: "h", x: [...kinds.values()], y: [...kinds.keys()].map((kind) => kind.replaceAll("_", " ")), marker: { color: colours()[1] }, hovertemplate: "%{y}: %{x}<extra></extra>" }],
    layout: layout({ bargap: 0.35, margin: { l: 90, r: 16, t: 12, b: 48 }, xaxis: axis("failed trials", { rangemode: "tozero" }), yaxis: axis("", { type: "category" }) }),
  };
}

function showPanels() {
  const total = shown.failures.reduce((sum, { count }) => sum + count, 0);
  byId("failures-text").textContent = total === 0 ? "" : counted(total, "trial") + " of " + counted(shown.trials.number.length, "trial") + " failed. Numbers within a reason do not count as another reason.";
  plainTable("reasons", ["kind", "trials", "reason", "numbers"], shown.failures.map(({ kind, count, reason, trials }) =>
    [kind.replaceAll("_", " "), String(count), reason, shortened(trials.join(" "), 60)]), 2);
  const made = new Date(1000 * DATA.made);
  const hosts = [...new Set(shown.slots.map(({ host }) => host))].filter(Boolean);
  const pairs = [["folder", shown.path], ...Object.entries(shown.versions).filter(([, text]) => text), ["hosts", hosts.join(", ")],
    ["measured on", Object.entries(shown.yardsticks).filter(([, { samples }]) => samples).map(([metric, { samples }]) => label(metric) + ": " + counted(samples, "sample")).join(", ")],
    ["genotypes of the space", shown.genotypes.toLocaleString("en")], ["this page was made", made.toLocaleString()]];
  byId("versions").replaceChildren(...pairs.filter(([, text]) => text).flatMap(([name, text]) => [make("dt", {}, name), make("dd", {}, text)]));
  const earlier = shown.more_warnings > 0 ? counted(shown.more_warnings, "earlier line") + " left out\n" : "";
  byId("warnings").textContent = shown.warnings.length ? earlier + shown.warnings.join("\n") : "None.";
  byId("config").textContent = shown.config;
  byId("repeat").textContent = shown.repeated_by;
}

SECTIONS.push({ show: showHead }, { start: startPanels, show: showPanels });
