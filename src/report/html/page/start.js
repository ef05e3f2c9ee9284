// Puts the page together.

function nameSections() {
  if (!RUNS.some((run) => run.has_network)) byId("network").dataset.title = "Trial";
  for (const section of document.querySelectorAll("main > section")) {
    const { title } = section.dataset;
    section.setAttribute("aria-label", title);
    if (section.dataset.folds === undefined) {
      section.prepend(make("div", { class: "head" }, make("h2", {}, title)));
    } else {
      makeFold(section, title);
    }
    if (section.id === "comparison" && DATA.comparison === null) continue;
    byId("nav").append(make("li", {}, make("a", { href: "#" + section.id, onclick: () => { const fold = foldOf(section.id); if (fold) fold.open = true; } }, title)));
  }
}

/// Puts the content of a section into a part that can be folded.
function makeFold(section, title) {
  const fold = make("details", {}, make("summary", { class: "head" }, make("h2", {}, title), make("span", { class: "news" })), ...section.childNodes);
  fold.open = section.dataset.folds !== "closed";
  fold.addEventListener("toggle", () => { if (fold.open) drawAgain(...[...section.querySelectorAll("[data-plot]")].map(({ dataset }) => dataset.plot)); });
  section.append(fold);
}

function foldOf(id) { return byId(id).querySelector(":scope > details"); }

/// Folds a section that has no news, and says why in its title; opens one that has some.
function foldWithout(id, reason) {
  foldOf(id).open = reason === "";
  foldOf(id).querySelector(".news").textContent = reason;
}

/// Hides a section and its link.
function hideSection(id, hidden) {
  byId(id).hidden = hidden;
  const link = byId("nav").querySelector(`[href="#${id}"]`);
  if (link) link.parentElement.hidden = hidden;
}

/// Shows everything about one run.
function showRun() {
  for (const section of SECTIONS) section.show?.();
}

function startRunChoice() {
  byId("run-choice").hidden = RUNS.length < 2;
  fill("run", RUNS.map((run, i) => [String(i), run.name]), "0");
  shown = RUNS[Number(byId("run").value)];
  listen("run", () => { shown = RUNS[Number(byId("run").value)]; chosen = { run: RUNS.indexOf(shown), number: null }; showRun(); drawAgain(); });
  chosen.run = RUNS.indexOf(shown);
}

/// Reloads the page, which is rewritten while a run goes on, unless the user turns that off.
function startReload() {
  if (DATA.reload === null) return;
  byId("reload-choice").hidden = false;
  listen("reload", () => {});
  setInterval(() => { if (byId("reload").checked && !document.hidden) location.reload(); }, 1000 * DATA.reload);
}

function start() {
  addEventListener("DOMContentLoaded", startPlots);  // after the library, which is long, so that text comes first
  startTheme();
  nameSections();
  startRunChoice();
  for (const section of SECTIONS) section.start?.();
  showRun();
  startReload();
  addEventListener("scroll", hideTip, { passive: true });
  addEventListener("keydown", (event) => { if (event.key === "Escape") hideTip(); });
}

start();
