// Tables: the front, or all trials, to sort and filter.

const MOST_ROWS = 300;
let sorting = { key: null, down: false };

/// Makes a table of texts without sorting; columns of words begin at the left.
function plainTable(id, titles, rows, wide = -1) {
  const table = byId(id);
  table.parentElement.hidden = rows.length === 0;
  const isWords = titles.map((_, i) => i === wide || rows.some((row) => /^[^\d–-]/.test(row[i])));
  table.tHead.replaceChildren(make("tr", {}, ...titles.map((title, i) => make("th", { scope: "col", class: isWords[i] ? "left" : null }, title))));
  table.tBodies[0].replaceChildren(...rows.map((row) => make("tr", {}, ...row.map((text, i) => make("td", { class: i === wide ? "left wrap" : isWords[i] ? "left" : null }, text)))));
}

/// Returns the columns of the table: key, title, note below it, value and text for [run, row]. Those of runs, trials and
/// results come first and stay in view.
function tableColumns() {
  const columns = [];
  let pinned = true;
  const add = (key, title, note, value, text = (found) => (typeof found === "number" ? number(found) : found ?? "–")) => columns.push({ key, title, note, value, text, pinned });
  if (RUNS.length > 1) add("run", "run", "", (run) => run.name);
  add("trial", "trial", "", (run, row) => run.number(row), String);
  if (RUNS.some((run) => run.taken)) add("taken", "trial of " + [...new Set(RUNS.flatMap((run) => run.taken?.run ?? []))].join(", "), "", (run, row) => run.taken?.numbers[run.number(row)] ?? null);
  const first = RUNS[0];
  const finals = finalMetrics();
  const budget = (rows, run) => { const all = new Set(rows.map((row) => run.trials.epochs[row])); return all.size === 1 ? epochs([...all][0]) : ""; };
  const addMetric = (metric) => add(metric, label(metric) + (finals.includes(metric) ? " in the search" : ""), described(metric).cost ? "" : budget(first.searched, first), (run, row) => run.value(metric, row), (found) => amount(metric, found));
  for (const metric of finals) {
    add("final " + metric, "final " + label(metric), budget(first.trained, first), (run, row) => run.value(metric, run.finalOf.get(run.number(row))), (found) => amount(metric, found));
  }
  const metrics = first.objectives.map(({ metric }) => metric);
  metrics.filter((metric) => !finals.includes(metric)).forEach(addMetric);
  pinned = false;
  if (RUNS.some((run) => run.trained.length > 0)) add("final front", "final front", "", (run, row) => run.finalText(row));
  for (const metric of RUNS.some((run) => Object.keys(run.repeats).length > 0) ? finals : []) {
    add("final " + metric + "_deviation", "± " + label(metric), "deviation of the repeats", (run, row) => run.deviation(metric, run.finalOf.get(run.number(row))), (found) => amount(metric, found));
  }
  for (const metric of RUNS.some((run) => Object.keys(run.search_repeats).length > 0) ? metrics.filter((name) => !described(name).cost) : []) {
    add(metric + "_deviation", "± " + label(metric), "deviation of the repeats", (run, row) => run.deviation(metric, row), (found) => amount(metric, found));
  }
  for (const metric of first.metrics.filter((name) => !metrics.includes(name) && (name === "parameters" || first.constraints.some((each) => each.metric === name)))) addMetric(metric);
  metrics.filter((metric) => finals.includes(metric)).forEach(addMetric);
  for (const name of new Set(RUNS.flatMap((run) => run.parameters.map((parameter) => parameter.name)))) {
    add(name, name, "", (run, row) => { const parameter = run.parameters.find((each) => each.name === name); return parameter ? run.parameterValue(parameter, row) : null; }, (found) => (found === null ? "–" : String(found)));
  }
  const present = new Set(columns.map(({ key }) => key));
  first.metrics.filter((name) => !present.has(name) && described(name).cost).forEach(addMetric);
  add("status", "status", "", (run, row) => run.trials.status[row]);
  add("architecture", "architecture", "", (run, row) => run.trials.arch[row]);
  return columns;
}

/// Returns the metrics of full trainings: the measured objectives, those on the test set, and others that these alone have.
function finalMetrics() {
  const names = RUNS[0].metrics.filter((metric) => !described(metric).cost && (described(metric).test || described(metric).full || RUNS[0].objectives.some((objective) => objective.metric === metric)));
  return names.filter((metric) => RUNS.some((run) => run.trained.some((row) => run.value(metric, row) !== null)));
}

let COLUMNS = [];

/// Returns a filter that fits the first run, e.g. "width=16 flops<1.2M".
function exampleFilter() {
  const run = RUNS[0];
  const parameter = run.parameters.find(({ name, values }) => values.length > 1 && !/\s/.test(name + values[0]));
  const bounded = run.objectives.find(({ maximize }) => !maximize) ?? run.objectives[0];
  const values = run.frontRows.map((row) => run.value(bounded.metric, row)).filter((value) => value !== null).sort((a, b) => a - b);
  const words = parameter ? [parameter.name + "=" + parameter.values[0]] : [];
  if (values.length > 0) words.push(bounded.metric + (bounded.maximize ? ">" : "<") + number(values[values.length >> 1]).replace(" ", ""));
  return words.join(" ");
}

function startTable() {
  COLUMNS = tableColumns();
  const example = exampleFilter();
  byId("table-example").textContent = example && "Filter by words and bounds, such as ";
  byId("table-example").append(...(example ? [make("code", {}, example), "."] : []));
  const hasFinal = RUNS.some((run) => run.hasFinalFront);
  byId("table-rows").querySelector("[value=front]").hidden = !hasFinal;
  if (hasFinal) byId("table-rows").querySelector("[value=best]").textContent = "the final front";
  listen("table-rows", showTable);
  listen("table-filter", showTable);
  const head = COLUMNS.map((column, i) => make("th", { scope: "col" }, make("button", { type: "button", onclick: () => sortBy(i) }, column.title, make("small", {}, column.note))));
  head.splice(pinnedColumns(), 0, make("th", { class: "left export", scope: "col" }, "export"));
  byId("trials").tHead.replaceChildren(make("tr", {}, ...head));
  byId("trials").classList.toggle("no-export", RUNS.every((run) => Object.keys(run.weights).length === 0));
  byId("trials").closest(".scroll").addEventListener("scroll", showMore, { passive: true });
  addEventListener("resize", pinColumns);
  showTable();
}

function pinnedColumns() { return COLUMNS.filter(({ pinned }) => pinned).length; }

/// Keeps the first columns in view, on narrow screens the trial alone.
function pinColumns() {
  const rows = [...byId("trials").rows];
  const all = pinnedColumns();
  const wide = byId("trials").closest(".scroll").clientWidth;
  const widths = [...rows[0].cells].slice(0, all).map((cell) => cell.getBoundingClientRect().width);
  const fits = widths.reduce((sum, width) => sum + width, 0) < 0.6 * wide;
  const count = fits ? all : 1 + COLUMNS.findIndex(({ key }) => key === "trial");
  let left = 0;
  widths.forEach((width, i) => {
    for (const row of rows) {
      row.cells[i].classList.toggle("pinned", i < count);
      row.cells[i].classList.toggle("last", i === count - 1);
      row.cells[i].style.left = i < count ? left + "px" : "";
    }
    left += width;
  });
  showMore();
}

/// Says how many columns lie beyond the right edge, and shades that edge.
function showMore() {
  const frame = byId("trials").closest(".scroll");
  const edge = frame.getBoundingClientRect().right;
  const beyond = [...byId("trials").rows[0].cells].filter((cell) => cell.getBoundingClientRect().right > edge + 2).length;
  frame.parentElement.classList.toggle("more", beyond > 0);
  byId("table-more").textContent = beyond > 0 ? "Scroll to the right for " + counted(beyond, "more column") + "." : "";
}

function sortBy(index) {
  const { key } = COLUMNS[index];
  sorting = { key, down: sorting.key === key ? !sorting.down : false };
  showTable();
}

/// Returns the number that a text stands for, also with an SI prefix: 100k. NaN if it is none.
function boundOf(text) {
  const [, digits, prefix] = text.match(/^(.*?)([kMGT]?)$/);
  return Number(digits || NaN) * (PREFIXES.find(([, name]) => name === prefix)?.[0] ?? 1);
}

/// Finds the column that a filter means: by its key or title with _ for blanks; the case counts where it tells columns apart.
function columnOf(name) {
  const called = (change) => COLUMNS.find(({ key, title }) => [key, title].some((each) => change(each.replaceAll(" ", "_")) === change(name)));
  return called((text) => text) ?? called((text) => text.toLowerCase()) ?? (name.startsWith("final_") ? undefined : columnOf("final_" + name));
}

/// A filter is a list of words that must all hold: `width=16`, `flops<1e6`, or a part of any cell. Returns it as `holds`,
/// and what is wrong with it as `mistake`.
function filterOf(text) {
  let mistake = "";
  const joinedUp = text.trim().replace(/\s*(<=|>=|!=|<|>|=)\s*/g, "$1").replace(/(\d) (?=[kMGT](\s|$))/g, "$1");
  const words = joinedUp.split(/\s+/).filter(Boolean).map((word) => {
    const found = word.match(/^(.+?)(<=|>=|!=|<|>|=)(.+)$/);
    const column = found && columnOf(found[1]);
    if (found && !column) {
      const names = COLUMNS.map(({ key }) => key.replaceAll(" ", "_"));
      mistake = ": no column " + found[1] + "; there are " + names.slice(0, 10).join(", ") + (names.length > 10 ? " and " + (names.length - 10) + " more" : "");
    }
    if (!column) return (cells) => cells.some((cell) => cell.toLowerCase().includes(word.toLowerCase()));
    const bound = boundOf(found[3]);
    const compare = { "<": (a) => a < bound, ">": (a) => a > bound, "<=": (a) => a <= bound, ">=": (a) => a >= bound }[found[2]];
    if (compare && Number.isNaN(bound)) mistake = ": " + found[3] + " is no number";
    const isEqual = (value) => String(value) === found[3] || (value !== null && value !== "" && Number(value) === bound);
    if (!compare) return (_, run, row) => isEqual(column.value(run, row)) === (found[2] === "=");
    return (_, run, row) => { const value = column.value(run, row); return typeof value === "number" && compare(value); };
  });
  const holds = (run, row) => { const cells = COLUMNS.map((column) => String(column.text(column.value(run, row)))); return words.every((word) => word(cells, run, row)); };
  return { holds, mistake };
}

function tableRows() {
  const chosenRows = { best: (run) => run.bestRows, front: (run) => run.frontRows, all: (run) => run.searched }[byId("table-rows").value];
  const rows = RUNS.flatMap((run, i) => chosenRows(run).map((row) => [i, row]));
  const filter = byId("table-filter").value;
  const { holds } = filterOf(filter);
  const kept = filter.trim() ? rows.filter(([i, row]) => holds(RUNS[i], row)) : rows;
  const column = COLUMNS.find(({ key }) => key === sorting.key);
  if (!column) return kept;
  const value = ([i, row]) => column.value(RUNS[i], row);
  const sign = sorting.down ? -1 : 1;
  return kept.map((place) => [value(place), place]).sort(([a], [b]) => (a === null) - (b === null) || sign * ((typeof a === "string") - (typeof b === "string") || (a < b ? -1 : a > b ? 1 : 0))).map(([, place]) => place);
}

function showTable() {
  const rows = tableRows();
  const mistake = rows.length === 0 ? filterOf(byId("table-filter").value).mistake : "";
  byId("table-count").textContent = (rows.length > MOST_ROWS ? "the first " + MOST_ROWS + " of " : "") + counted(rows.length, "trial") + mistake;
  byId("trials").tBodies[0].replaceChildren(...rows.slice(0, MOST_ROWS).map(([i, row]) => tableRow(i, row)));
  [...byId("trials").tHead.rows[0].cells].forEach((cell, i) => {
    const column = COLUMNS[i < pinnedColumns() ? i : i - 1];
    const active = column.key === sorting.key && sorting.key !== null;
    if (i !== pinnedColumns()) cell.setAttribute("aria-sort", active ? (sorting.down ? "descending" : "ascending") : "none");
  });
  pinColumns();
  markSelected();
}

function tableRow(runIndex, row) {
  const run = RUNS[runIndex];
  const cells = COLUMNS.map((column) => {
    const text = String(column.text(column.value(run, row)));
    if (column.key !== "trial") return make("td", {}, text);
    return make("td", {}, make("button", { type: "button", class: "link", onclick: () => select(runIndex, run.number(row), true) }, text));
  });
  const copy = make("button", { type: "button", title: run.exportLine(run.number(row)), onclick: (event) => copyText(run.exportLine(run.number(row)), event.target) }, "Copy line");
  cells.splice(pinnedColumns(), 0, make("td", { class: "left export" }, run.isKept(run.number(row)) ? copy : ""));
  return make("tr", { "data-run": runIndex, "data-trial": run.number(row), class: run.isDisproved(row) ? "disproved" : null }, ...cells);
}

/// Puts a text on the clipboard. If the page may not, it shows the text, to be copied by hand.
function copyText(text, button) {
  const before = button.textContent;
  const done = () => { button.textContent = "Copied"; setTimeout(() => { button.textContent = before; }, 1200); };
  const byHand = () => {
    const area = make("textarea", { readonly: "" });
    area.value = text;
    document.body.append(area);
    area.select();
    const copied = document.execCommand("copy");
    area.remove();
    if (copied) done(); else prompt("Copy this line", text);
  };
  if (navigator.clipboard) navigator.clipboard.writeText(text).then(done, byHand); else byHand();
}

SECTIONS.push({ start: startTable });
