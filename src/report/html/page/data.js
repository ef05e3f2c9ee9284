"use strict";
// The data of the page: runs, their trials as columns, and questions to them. A row is an index into the columns.
const DATA = JSON.parse(document.getElementById("data").textContent);

/// The parts of the page, each added by its own script: `start` is called once, `show` for each run that is chosen.
const SECTIONS = [];

class Run {
  constructor(data) {
    Object.assign(this, data);
    for (const objective of this.objectives) objective.maximize = objective.sense === "maximize";
    const columns = data.trials;
    const rows = columns.number.map((_, row) => row);
    this.searched = rows.filter((row) => !columns.final[row]);
    this.trained = rows.filter((row) => columns.final[row] === 1);  // repeats have 2, 3, ...
    [, this.mostEpochs] = extent(this.searched.map((row) => columns.epochs[row]));
    this.members = new Set(data.front);
    this.finalMembers = new Set(data.final_front);
    this.rowOf = new Map(this.searched.map((row) => [columns.number[row], row]));
    const ofFinalBudget = this.trained.filter((row) => columns.epochs[row] === data.final_epochs);
    this.finalOf = new Map(ofFinalBudget.map((row) => [columns.number[row], row]));
    this.frontRows = data.front.map((number) => this.rowOf.get(number));
    this.finalFrontRows = data.final_front.map((number) => this.rowOf.get(number));
    this.hasFinalFront = data.final_front.length > 0;
    this.bestRows = this.hasFinalFront ? this.finalFrontRows : this.frontRows;
    this.metrics = Object.keys(columns.metrics);
    this.parameters = columns.parameters;
  }
  number(row) { return this.trials.number[row]; }
  ok(row) { return this.trials.status[row] === "ok"; }
  /// Returns whether a trial of the search was given as many epochs as any: only such trials are on the front.
  isWhole(row) { return this.trials.epochs[row] === this.mostEpochs; }
  onFront(row) { return !this.trials.final[row] && this.members.has(this.trials.number[row]); }
  value(metric, row) {
    if (metric === "trial") return this.trials.number[row];
    if (metric === "iteration" || metric === "epochs") return this.trials[metric][row];
    const column = this.trials.metrics[metric];
    return column === undefined || row === undefined ? null : column[row];
  }
  /// Returns the full training of a trial, or the trial itself if none has succeeded: the one that is exported.
  resultOf(row) {
    const trained = this.finalOf.get(this.number(row));
    return trained !== undefined && this.ok(trained) ? trained : row;
  }
  /// Returns the objectives' values, smaller is better, or null if one is missing.
  minimized(row) {
    const values = this.objectives.map(({ metric, maximize }) => { const value = this.value(metric, row); return value === null ? null : maximize ? -value : value; });
    return values.includes(null) ? null : values;
  }
  /// Says whether a full training is on the final front, and if not, why; null if there is none.
  finalText(row) {
    const number = this.number(row);
    if (this.finalMembers.has(number)) return "yes";
    const trained = this.finalOf.get(number);
    if (trained === undefined) return null;
    if (!this.ok(trained)) return "no: " + this.trials.status[trained].replaceAll("_", " ");
    const values = this.minimized(trained);
    const beats = (other) => { const its = this.minimized(this.resultOf(other)); return its.every((value, i) => value <= values[i]) && its.some((value, i) => value < values[i]); };
    const better = values && this.finalFrontRows.find(beats);
    return better === undefined || better === null ? "no: breaks a constraint" : "no: beaten by " + this.number(better);
  }
  isDisproved(row) { return this.finalOf.has(this.number(row)) && !this.finalMembers.has(this.number(row)); }
  /// Returns the value of a parameter in a trial, or null if its network does not use it.
  parameterValue(parameter, row) {
    const choice = parameter.choices[row];
    return choice < 0 ? null : parameter.values[choice];
  }
  maximizes(metric) { return this.objectives.some((objective) => objective.metric === metric && objective.maximize); }
  /// Returns the standard deviation of a metric over the repeats of a trial, or of its full training, or null.
  deviation(metric, row) {
    if (row === undefined) return null;
    return (this.trials.final[row] ? this.repeats : this.search_repeats)[this.number(row)]?.metrics[metric]?.deviation ?? null;
  }
  /// Returns a metric's value as text, with its deviation where it is known.
  textOf(metric, row) {
    const deviation = this.deviation(metric, row);
    return amount(metric, this.value(metric, row)) + (deviation === null ? "" : " ± " + amount(metric, deviation));
  }
  nameOf(row) { return "trial " + this.number(row) + (this.taken ? " (" + this.taken.numbers[this.number(row)] + " of " + this.taken.run + ")" : "") + (this.trials.final[row] < 0 ? " (refit)" : this.trials.final[row] ? " (full training)" : ""); }
  /// Returns what the refit of a trial measured if its weights are the model that is exported, else undefined.
  refitOf(number) { return this.weights[number + ".refit"] === undefined ? undefined : this.refits[number]; }
  /// Returns whether the network of the result that is shown for a trial was kept, so that it can be exported.
  isKept(number) { return this.refitOf(number) !== undefined || this.weights[number + (this.trials.final[this.resultOf(this.rowOf.get(number))] ? ".final" : "")] !== undefined; }
  exportLine(number) { return "skyline export " + quoted(this.path) + " --trial " + number + " --format onnx"; }
}

/// Quotes a word for a shell's command line.
function quoted(text) {
  return /^[\w./~+:@%-]+$/.test(text) ? text : "'" + text.replaceAll("'", "'\\''") + "'";
}

const RUNS = DATA.runs.map((run) => new Run(run));
/// Runs that differ in their seed alone, as { name, runs } with indices into RUNS; other runs are groups of one.
const GROUPS = (DATA.comparison?.groups ?? []).map(({ name, runs }) => ({ name: runs.length > 1 ? name : runs[0], runs: runs.map((each) => RUNS.findIndex((run) => run.name === each)) }));
RUNS.forEach((run, i) => { if (!GROUPS.some(({ runs }) => runs.includes(i))) GROUPS.push({ name: run.name, runs: [i] }); });
function groupOf(runIndex) { return GROUPS.findIndex(({ runs }) => runs.includes(runIndex)); }
function isFirstOfGroup(runIndex) { return GROUPS[groupOf(runIndex)].runs[0] === runIndex; }

let shown = RUNS[0];  // the run whose details are shown

/// Returns whether all values are ascending numbers, which can be drawn on a numeric axis.
function isNumeric(parameter) { return parameter.values.every((value) => typeof value === "number"); }

function extent(values) {
  let low = Infinity, high = -Infinity;
  for (const value of values) {
    if (value === null || value === undefined) continue;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return [low, high];
}
