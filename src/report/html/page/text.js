// Words and numbers for people.

/// The description of a metric in the runs: its unit, and whether it is a share, a cost, or of the test set.
function described(metric) {
  return DATA.runs.map((run) => run.described[metric]).find((found) => found !== undefined) ?? { unit: "" };
}

/// Turns "latency_ms" into "latency (ms)".
function label(metric) {
  const { unit } = described(metric);
  if (unit.toLowerCase() === metric) return unit;
  const ending = unit === "B" ? "_bytes" : "_" + unit;
  const words = (metric.endsWith(ending) ? metric.slice(0, -ending.length) : metric).replaceAll("_", " ");
  return unit ? words + " (" + unit + ")" : words;
}

const PREFIXES = [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]];

/// Writes four significant digits, with an SI prefix from 1,000 on.
function number(value) {
  if (value === null || value === undefined) return "–";
  if (typeof value !== "number") return String(value);
  const size = Math.abs(value);
  for (const [factor, prefix] of PREFIXES) {
    if (size >= factor * 0.99995) return (value / factor).toPrecision(4) + " " + prefix;
  }
  if (Number.isInteger(value)) return String(value);
  return size !== 0 && size < 1e-3 ? value.toExponential(2) : String(Number(value.toPrecision(4)));
}

/// Returns a metric's value with its unit.
function amount(metric, value) {
  if (value === null || value === undefined) return "–";
  const { share, unit: named } = described(metric);
  const unit = named.toLowerCase() === metric ? "" : named;
  const text = share ? value.toFixed(4) : number(value);
  return unit ? text + (/[kMGT]$/.test(text) ? "" : " ") + unit : text;
}

function counted(count, noun) { return count.toLocaleString("en") + " " + noun + (count === 1 ? "" : "s"); }

/// Returns e.g. "10 epochs".
function epochs(value) { return number(value) + (value === 1 ? " epoch" : " epochs"); }

function duration(seconds) {
  if (seconds > 0 && seconds < 1) return Math.round(1000 * seconds) + " ms";
  if (seconds < 60) return number(Number(seconds.toPrecision(3))) + " s";
  if (seconds < 600) return Math.floor(seconds / 60) + " min " + Math.floor(seconds % 60) + " s";
  const minutes = Math.round(seconds / 60);
  if (minutes < 60) return minutes + " min";
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return hours + " h " + (minutes % 60) + " min";
  return Math.floor(hours / 24) + " d " + (hours % 24) + " h";
}

/// Makes an element with attributes and children; texts become text, never markup.
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "class") element.className = value;
    else if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== null) element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

function byId(id) { return document.getElementById(id); }

/// Keeps the user's settings for these runs over a reload, if the browser lets a page store something.
const KEPT_FOR = DATA.runs.map((run) => run.path).join("|") + "|";
const kept = {
  get(key) { try { return sessionStorage.getItem(KEPT_FOR + key); } catch { return null; } },
  set(key, value) { try { sessionStorage.setItem(KEPT_FOR + key, value); } catch { /* not allowed here */ } },
};

/// Fills a select with [value, text] pairs and the choice kept from before, else `chosen`.
function fill(id, options, chosen) {
  const select = byId(id);
  select.replaceChildren(...options.map(([value, text]) => make("option", { value }, text)));
  const before = kept.get(id);
  select.value = options.some(([value]) => value === before) ? before : chosen;
  if (select.selectedIndex < 0) select.selectedIndex = 0;
}

/// Calls `changed` when the user changes a control, whose value is kept.
function listen(id, changed) {
  const control = byId(id);
  const isBox = control.type === "checkbox";
  const before = kept.get(id);
  if (isBox && before !== null) control.checked = before === "true";
  if (!isBox && before !== null && control.tagName === "SELECT") {
    if ([...control.options].some((option) => option.value === before)) control.value = before;
  }
  control.addEventListener(control.type === "search" ? "input" : "change", () => {
    kept.set(id, isBox ? String(control.checked) : control.value);
    changed();
  });
}
