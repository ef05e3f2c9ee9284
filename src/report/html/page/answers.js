// What the network of a trial answers to the samples of the test set: which classes it takes for which others and its worst
// samples, or its numbers beside the true ones.

const MOST_CLASSES = 30;  // classes up to which the matrix can be read

function startAnswers() {
  byId("answers-trial").addEventListener("change", () => select(chosen.run, Number(byId("answers-trial").value)));
  byId("answers-output").addEventListener("change", () => drawAgain("answers"));
  addPlot("answers", drawAnswers);
}

function answersShown() { return RUNS[chosen.run].answers[chosen.number]; }

function shareText(part, whole) { return whole === 0 ? "–" : (part / whole).toFixed(4); }

/// Returns the samples that the answers are right about.
function rightText({ targets, samples, right }) {
  if (targets !== "classes") return "";
  const sum = right.reduce((total, count) => total + count, 0);
  return ": " + sum.toLocaleString("en") + " of the answers are right (" + shareText(sum, samples) + ")";
}

function showAnswers() {
  const run = RUNS[chosen.run];
  const listed = [...run.bestRows, ...run.frontRows].map((row) => run.number(row)).filter((each, i, all) => run.answers[each] && all.indexOf(each) === i);
  hideSection("answers", listed.length === 0);
  if (listed.length === 0) return;
  const titles = new Map(picksOf(run).map(({ row, titles: all }) => [run.number(row), " (" + all.join(", ").toLowerCase() + ")"]));
  const choice = byId("answers-trial");
  choice.replaceChildren(...listed.map((each) => make("option", { value: each }, (RUNS.length > 1 ? run.name + " " : "") + each + (titles.get(each) ?? ""))));
  choice.value = chosen.number;
  const answers = answersShown();
  byId("answers-text").textContent = answers
    ? "The full training of trial " + chosen.number + " that is exported, on " + counted(answers.samples, "sample") + " of the test set" + rightText(answers) + "."
    : "Trial " + chosen.number + " has none here: they are shown for networks on the final front.";
  const outputs = answers?.points ? answers.names : [];
  byId("answers-output").replaceChildren(...outputs.map((name, i) => make("option", { value: i }, name)));
  byId("answers-output").parentElement.hidden = outputs.length < 2;
  const hasPlot = Boolean(answers) && answers.targets !== "labels" && (answers.points !== undefined || answers.names.length <= MOST_CLASSES);
  byId("answers-plot").hidden = byId("save-answers").hidden = !hasPlot;
  showClasses(answers);
  showWorst(answers);
  drawAgain("answers");
}

/// Returns the rows of a table about the classes, those with the most wrong answers first.
function classRows({ names, all, right, taken }) {
  const order = names.map((_, i) => i).sort((a, b) => (all[b] - right[b]) - (all[a] - right[a]));
  return order.map((i) => {
    const often = taken.filter(([wanted]) => wanted === i).slice(0, 2).map(([, answer, count]) => names[answer] + " (" + count + ")");
    return [names[i], String(all[i]), shareText(right[i], all[i]), often.join(", ")];
  });
}

function labelRows({ names, labels }) {
  return names.map((name, i) => { const [said, right, both] = labels[i]; return [name, String(right), String(said), shareText(both, right), shareText(both, said)]; });
}

function showClasses(answers) {
  const isLabels = answers?.targets === "labels";
  const rows = isLabels ? labelRows(answers) : answers?.targets === "classes" ? classRows(answers) : [];
  plainTable("classes", isLabels ? ["label", "samples with it", "predicted", "recall", "precision"] : ["class", "samples", "recall", "most often taken for"], rows, isLabels ? -1 : 3);
}

/// Returns a canvas with a small picture, whose bytes are [height, width, channels].
function pictureOfSample({ pixels, height, width }) {
  const canvas = make("canvas", { height, width });
  const bytes = Uint8Array.from(atob(pixels), (letter) => letter.charCodeAt(0));
  const channels = bytes.length / (height * width);
  const data = new ImageData(width, height);
  for (let i = 0; i < height * width; ++i) {
    for (let c = 0; c < 3; ++c) data.data[4 * i + c] = bytes[channels * i + (channels === 3 ? c : 0)];
    data.data[4 * i + 3] = 255;
  }
  canvas.getContext("2d").putImageData(data, 0, 0);
  return canvas;
}

function probabilityText(share) { return share < 0.001 ? "less than 0.1 %" : (100 * share).toFixed(1) + " %"; }

function showWorst(answers) {
  const worst = answers?.worst ?? [];
  byId("worst").parentElement.hidden = worst.length === 0;
  byId("worst").replaceChildren(...worst.map((each) => make("figure", {},
    ...(each.pixels ? [pictureOfSample(each)] : []),
    make("figcaption", {}, make("b", {}, answers.names[each.class]),
      ...(each.class === each.answer ? [" answered rightly"] : [" taken for ", make("b", {}, answers.names[each.answer])]), make("small", {}, "sample " + each.sample + ": " + answers.names[each.class] + " with " + probabilityText(each.probability))))));
}

function drawAnswers() {
  const answers = answersShown();
  if (!answers || byId("answers-plot").hidden) return "";
  return answers.points ? drawPoints(answers, Number(byId("answers-output").value || 0)) : drawMatrix(answers);
}

function drawMatrix({ names, all, right, taken }) {
  const counts = names.map((_, i) => names.map((_, k) => (i === k ? right[i] : 0)));
  for (const [wanted, answer, count] of taken) counts[wanted][answer] = count;
  const shares = counts.map((row, i) => row.map((count) => (count === 0 ? null : count / all[i])));
  PLOTS.get("answers").element.style.height = Math.max(300, Math.min(640, 130 + 24 * names.length)) + "px";
  const titles = names.map((name) => escaped(shortened(name, 14)));
  const places = names.map((_, i) => i);
  const ticks = { tickvals: places, ticktext: titles, showgrid: false, zeroline: false };
  const few = names.length <= 16;
  return {
    data: [{ type: "heatmap", x: places, y: places, z: shares, zmin: 0, zmax: 1, colorscale: scale(), showscale: false, xgap: 1, ygap: 1,
      text: counts.map((row) => row.map((count) => (few && count > 0 ? String(count) : ""))), texttemplate: "%{text}",
      customdata: counts, hovertemplate: "%{customdata} samples: %{z:.1%} of their class<extra></extra>" }],
    layout: layout({ margin: { l: 60, r: 16, t: 12, b: 48 }, xaxis: axis("predicted", ticks), yaxis: axis("true", { ...ticks, autorange: "reversed" }) }),
  };
}

function drawPoints({ points, names }, output) {
  const own = points.filter(([index]) => index === output);
  const [low, high] = extent(own.flatMap(([, wanted, answer]) => [wanted, answer]));
  PLOTS.get("answers").element.style.height = "380px";
  return {
    data: [{ type: "scatter", mode: "lines", x: [low, high], y: [low, high], hoverinfo: "skip", line: { color: css("quiet"), width: 1.5, dash: "dash" } },
      { ...scatter({ x: own.map(([, wanted]) => wanted), y: own.map(([, , answer]) => answer), marker: { color: colours()[0], size: 6, opacity: 0.6 } }),
        hoverinfo: undefined, hovertemplate: "true %{x:.4~g}, predicted %{y:.4~g}<extra></extra>" }],
    layout: layout({ hovermode: "closest", xaxis: axis("true " + names[output]), yaxis: axis("predicted") }),
  };
}

SECTIONS.push({ start: startAnswers });
