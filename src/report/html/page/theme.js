// Light and dark: the system's choice until the user makes one. Colours are those of Okabe and Ito, which people who
// see colours differently can tell apart.

const COLOURS = {
  light: ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#6b4ea0", "#58616b"],
  dark: ["#56b4e9", "#f28e3c", "#2fc79a", "#e39cc4", "#f0c04a", "#8ac6ff", "#b39be0", "#a0a9b3"],
};

const system = matchMedia("(prefers-color-scheme: dark)");
let printing = false;

function isDark() {
  if (printing) return false;
  const choice = kept.get("theme");
  return choice ? choice === "dark" : system.matches;
}

function colours() { return isDark() ? COLOURS.dark : COLOURS.light; }

/// Returns the colour of a run's group, or for a single run the colour with that index.
function runColour(runIndex, alone) { return colours()[RUNS.length > 1 ? groupOf(runIndex) % 7 : alone]; }

/// Returns a colour of the style sheet.
function css(name) { return getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim(); }

function applyTheme() {
  document.documentElement.dataset.theme = isDark() ? "dark" : "light";
  byId("theme").textContent = isDark() ? "Light" : "Dark";
}

function startTheme() {
  applyTheme();
  const redraw = () => { applyTheme(); showNetwork(); drawAgain(); };
  byId("theme").addEventListener("click", () => { kept.set("theme", isDark() ? "light" : "dark"); redraw(); });
  system.addEventListener("change", redraw);
  addEventListener("beforeprint", () => { printing = true; applyTheme(); showNetwork(); drawAll(); });
  addEventListener("afterprint", () => { printing = false; redraw(); });
}

function axis(title, more = {}) {
  return {
    title: { text: escaped(title), standoff: 8 }, gridcolor: css("line"), linecolor: css("line"), zerolinecolor: css("line"),
    automargin: true, exponentformat: "SI", ...more,
  };
}

function layout(more = {}) {
  return {
    font: { family: getComputedStyle(document.body).fontFamily, size: 12, color: css("text") },
    paper_bgcolor: css("card"), plot_bgcolor: css("card"), margin: { l: 60, r: 16, t: 12, b: 48 },
    showlegend: false, legend: { orientation: "h", y: 1.02, yanchor: "bottom", x: 0, bgcolor: "rgba(0,0,0,0)" },
    hoverlabel: { bgcolor: css("card"), bordercolor: css("line"), font: { color: css("text") } }, ...more,
  };
}

/// Escapes tags, which the plotting library would read in users' names.
function escaped(text) { return String(text).replaceAll("&", "&amp;").replaceAll("<", "&lt;"); }

/// A scale of one hue from weak to strong, which everybody can read, also in print.
function scale() {
  return isDark() ? [[0, "#34485a"], [0.5, "#3f8fc4"], [1, "#d3ecff"]] : [[0, "#c3d3df"], [0.5, "#3f8fc4"], [1, "#002a47"]];
}

/// Returns the colour at a place of that scale, from 0 to 1.
function shade(place) {
  const [from, to] = place < 0.5 ? [scale()[0], scale()[1]] : [scale()[1], scale()[2]];
  const part = (colour, i) => parseInt(colour.slice(1 + 2 * i, 3 + 2 * i), 16);
  const share = (place - from[0]) / 0.5;
  return "#" + [0, 1, 2].map((i) => Math.round(part(from[1], i) * (1 - share) + part(to[1], i) * share).toString(16).padStart(2, "0")).join("");
}
