// The result in words: what was sought and found, and the networks that most people choose from.

const MOST_UNFOUND = 3;  // classes that a card names

/// Returns e.g. "at most 100 k".
function boundText(metric, { low, high }) {
  const text = (bound) => amount(metric, bound).replace(/(\.\d*?)0+(?= |$)/, "$1").replace(/\.(?= |$)/, "");
  const least = low === null || (low === 0 && high !== null) ? null : text(low);
  const most = high === null ? null : text(high);
  return least && most ? least + " to " + most : most ? "at most " + most : "at least " + least;
}

/// Returns e.g. "highest validation accuracy", "fewest parameters".
function superlative({ metric, maximize }) {
  const [most, least] = described(metric).cost ? ["most ", "fewest "] : ["highest ", "lowest "];
  return (maximize ? most : least) + label(metric);
}

/// Returns e.g. "the highest validation accuracy and the fewest FLOPs, with parameters at most 100 k".
function soughtText(run) {
  const ends = run.objectives.map((objective) => "the " + superlative(objective));
  const bounds = run.constraints.map((constraint) => label(constraint.metric) + " " + boundText(constraint.metric, constraint));
  return listed(ends) + (bounds.length ? ", with " + listed(bounds) : "");
}

function listed(texts) { return texts.length < 2 ? texts.join("") : texts.slice(0, -1).join(", ") + " and " + texts.at(-1); }

/// Returns whether a value is good enough for a network of use: at least half of the best share, at most twice the best error.
function isUseful(value, best, maximize) {
  if (best <= 0) return true;
  return maximize ? value >= best / 2 : value <= best * 2;
}

/// Returns the place of each row between the best (0) and the worst (1) of the rows in each objective, on the scales of the front.
function placesOf(run, rows) {
  const columns = run.objectives.map(({ metric, maximize }) => {
    const values = rows.map((row) => run.value(metric, run.resultOf(row)));
    const { place, axis: { type } } = scaleOf(metric, wantsLog(metric));
    const placed = values.map((value) => (type === "log" ? Math.log(place(value)) : place(value)) * (maximize ? -1 : 1));
    const [low, high] = extent(placed);
    return placed.map((value) => (value - low) / (high - low || 1));
  });
  return rows.map((_, i) => columns.map((column) => column[i]));
}

/// Returns the picks of a run as { row, titles, note }: the best network, the cheapest that the samples do not tell apart from
/// it, the one nearest to the best of all objectives at once, and the cheapest of use. A network that is several of them is one.
function picksOf(run) {
  const rows = run.bestRows;
  if (rows.length === 0) return [];
  const [first, second] = run.objectives;
  const valueOf = (objective, row) => run.value(objective.metric, run.resultOf(row));
  const best = (from, { metric, maximize }) => from.reduce((kept, row) => {
    const difference = valueOf({ metric }, row) - valueOf({ metric }, kept);
    return (maximize ? difference > 0 : difference < 0) ? row : kept;
  });
  const top = best(rows, first);
  const found = [[top, "Best", superlative(first)]];
  if (second) {
    const alike = rows.filter((row) => row === top || run.alike.includes(run.number(row)));
    if (best(alike, second) !== top) found.push([best(alike, second), "As good", superlative(second) + " of those that the samples do not tell apart from the best"]);
    const useful = rows.filter((row) => isUseful(valueOf(first, row), valueOf(first, top), first.maximize));
    const title = described(second.metric).cost ? "Smallest" : capital(superlative(second));
    const bound = (first.maximize ? " with at least half of the best " : " with at most twice the best ") + label(first.metric);
    const distances = placesOf(run, rows).map((places) => Math.hypot(...places));
    if (rows.length > 2) found.push([rows[distances.indexOf(Math.min(...distances))], "Knee", "nearest to the best of all objectives at once"]);
    found.push([best(useful, second), title, superlative(second) + (useful.length < rows.length ? bound : "")]);
  }
  const picks = [];
  for (const [row, title, note] of found) {
    const same = picks.find((pick) => pick.row === row);
    if (same) { same.titles.push(title); same.note += "; " + note; } else picks.push({ row, titles: [title], note });
  }
  return picks;
}

function capital(text) { return text[0].toUpperCase() + text.slice(1); }

/// Returns the metric by which a network of a front is judged: on the test set if that was measured, else the first objective.
function judgedBy(run, row) { return run.judged[run.number(row)].metric; }

/// Returns the first objective, by which the search chose a network that is judged by another metric; null if there is none.
function chosenBy(run, row) {
  const [{ metric }] = run.objectives;
  return metric !== judgedBy(run, row) && run.value(metric, run.resultOf(row)) !== null ? metric : null;
}

/// Returns e.g. "Classes never found in the test set: fraud (13 samples)." about what a network never answers where it is right.
function unfoundText(run, row) {
  const answers = run.answers[run.number(row)];
  const counts = answers?.targets === "classes" ? answers.names.map((_, i) => [answers.all[i], answers.right[i]])
    : answers?.targets === "labels" ? answers.labels.map(([, right, both]) => [right, both]) : [];
  const unfound = counts.flatMap(([all, found], i) => (all > 0 && found === 0 ? [answers.names[i] + " (" + counted(all, "sample") + ")"] : []));
  const rest = unfound.splice(MOST_UNFOUND);
  return unfound.length === 0 ? "" : capital(answers.targets) + " never found in the test set: " + listed(rest.length ? [...unfound, rest.length + " more"] : unfound) + ".";
}

/// Returns the lines of a pick: its objectives, size and latency, as far as they are known.
function pickPairs(run, row) {
  const trained = run.resultOf(row);
  const tested = run.metrics.filter((metric) => described(metric).test);
  const names = [...tested, ...run.objectives.map(({ metric }) => metric), ...run.constraints.map(({ metric }) => metric), "flops", "parameters", "latency_ms"];
  const told = [judgedBy(run, row), chosenBy(run, row)];
  const known = [...new Set(names)].filter((metric) => !told.includes(metric) && run.value(metric, trained) !== null);
  const alone = run.latencies[run.number(row)];
  const refit = run.refitOf(run.number(row));
  const exported = run.isKept(run.number(row)) ? (refit ?? run.repeats[run.number(row)]?.first)?.[judgedBy(run, row)] : undefined;
  const which = refit === undefined ? " of the exported one" : " of the exported one, trained on the validation samples, too";
  return [...(exported === undefined ? [] : [[label(judgedBy(run, row)) + which, amount(judgedBy(run, row), exported)]]), ...known.map((metric) => [label(metric).replace(/ \(.*\)$/, ""), run.textOf(metric, trained)]), ...(alone === undefined ? [] : [["latency when nothing trained", number(alone) + " ms"]])];
}

/// Returns what the value of a pick and its ± are, if it was trained several times.
function repeatsText(run, row) {
  const count = run.repeats[run.number(row)]?.count;
  return count === undefined ? "" : ": mean and standard deviation of " + count + " trainings";
}

/// Returns e.g. "0.9 to 0.95 at 95 %": how far the samples alone decide the value of a pick. Empty if it is no share of them.
/// @param joint  stands between the ends
function intervalText(run, row, joint = " to ") {
  const { low, high } = run.judged[run.number(row)];
  const text = (end) => (Math.abs(end) <= 1 ? end.toFixed(4) : amount(judgedBy(run, row), end));
  return low === undefined ? "" : text(low) + joint + text(high) + " at 95 %";
}

/// Returns the value of a pick in words.
function judgedText(run, row) {
  const trained = run.resultOf(row), { samples } = run.judged[run.number(row)];
  const how = [label(judgedBy(run, row)) + (run.is_made_up ? " (made up)" : ""), epochs(run.trials.epochs[trained]) + repeatsText(run, row)];
  return how.join(", ") + (samples === undefined ? "" : "; " + counted(samples, "sample") + " put it between " + intervalText(run, row, " and "));
}

/// Returns how to get the network of a pick: the line that exports it, and what trains it in full if nothing has.
function exportParts(run, row) {
  if (!run.has_network) return [];
  if (!run.isKept(run.number(row))) return [make("p", { class: "hint" }, "Nothing to export: its weights were not kept.")];
  const line = run.exportLine(run.number(row));
  const briefly = run.final_epochs === null && !run.trials.final[run.resultOf(row)];
  return [make("div", { class: "line" }, make("code", {}, line), make("button", { type: "button", onclick: (event) => copyText(line, event.target) }, "Copy")),
    ...(briefly ? [make("p", { class: "hint" }, "That is the network as the search left it, after " + epochs(run.trials.epochs[row]) + ". ", make("code", {}, "skyline train"), " trains it in full.")] : [])];
}

function pickCard(run, { row, titles, note }) {
  const index = RUNS.indexOf(run);
  const chosen = chosenBy(run, row), unfound = unfoundText(run, row);
  const pairs = pickPairs(run, row).flatMap(([name, text]) => [make("dt", {}, name), make("dd", {}, text)]);
  return make("article", { class: "pick" },
    make("h3", { title: note }, listed(titles.map((title, i) => (i === 0 ? title : title[0].toLowerCase() + title.slice(1)))), make("button", { type: "button", class: "link", onclick: () => select(index, run.number(row), true) }, run.nameOf(row))),
    ...(chosen === null ? [] : [make("p", { class: "judged" }, make("b", {}, run.textOf(chosen, run.resultOf(row))), " " + label(chosen) + ", by which it was chosen")]),
    make("p", { class: "judged" }, make("b", {}, run.textOf(judgedBy(run, row), run.resultOf(row))), " " + judgedText(run, row)),
    ...(unfound ? [make("p", { class: "hint missing" }, unfound)] : []),
    make("dl", { class: "pairs" }, ...pairs), make("p", { class: "hint" }, "Chosen for: " + note + "."), ...exportParts(run, row));
}

/// Returns e.g. "from test accuracy 0.1577 at FLOPs 3.754 k to test accuracy 0.969 at FLOPs 4.799 M".
function rangeText(run) {
  const [, second] = run.objectives;
  const end = (row) => {
    const judged = judgedBy(run, row);
    const cost = second && second.metric !== judged ? " at " + amount(second.metric, run.value(second.metric, run.resultOf(row))) + " " + label(second.metric).replace(/ \(.*\)$/, "") : "";
    return label(judged) + " " + amount(judged, run.value(judged, run.resultOf(row))) + cost;
  };
  const rows = run.bestRows;
  return rows.length === 1 ? end(rows[0]) : "from " + end(rows.at(-1)) + " to " + end(rows[0]);
}

function resultText(run) {
  const noun = run.has_network ? "network" : "candidate";
  const networks = new Set(run.searched.map((row) => run.trials.arch[row])).size;
  const tried = counted(networks, noun) + (networks === 1 ? " was" : " were") + " tried for " + soughtText(run) + ".";
  if (run.bestRows.length === 0) return run.searched.length ? tried : "";
  const held = run.hasFinalFront ? run.frontRows.filter((row) => run.finalMembers.has(run.number(row))).length : 0;
  const found = run.hasFinalFront
    ? "Trained in full (" + epochs(run.final_epochs) + "), " + (held === run.front.length ? "all " + held : held + " of the " + run.front.length) + " on the search's front " + (held === 1 ? "holds" : "hold") + ": "
    : (run.front.length === 1 ? "One is" : run.front.length + " are") + " beaten by no other one: ";
  const madeUp = run.is_made_up ? " What was measured is made up by a model of training, for trying the program out." : "";
  const isTested = run.bestRows.some((row) => judgedBy(run, row) === run.test_metric);
  const untested = run.trained.length === 0 && run.test_metric !== null && !isTested ? " None was trained in full or tested." : "";
  return tried + " " + found + rangeText(run) + "." + untested + madeUp;
}

/// Returns e.g. "Best of each run: a trial 3 with test accuracy 0.95, b trial 7 with test accuracy 0.96."
function bestOfRunsText() {
  const texts = RUNS.map((run) => {
    if (run.bestRows.length === 0) return run.name + " has no front";
    const { row } = picksOf(run)[0];
    const interval = intervalText(run, row);
    return run.name + " trial " + run.number(row) + " with " + label(judgedBy(run, row)) + " " + run.textOf(judgedBy(run, row), run.resultOf(row)) + (interval && " (" + interval + ")");
  });
  return "Best of each run: " + texts.join(", ") + ".";
}

function showResult() {
  byId("result-text").textContent = RUNS.length > 1 ? shown.name + ", the run that is chosen above: " + resultText(shown) + " " + bestOfRunsText() : resultText(shown);
  byId("picks").replaceChildren(...picksOf(shown).map((pick) => pickCard(shown, pick)));
}

SECTIONS.push({ show: showResult });
