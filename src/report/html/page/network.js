// The network of a trial as a graph: boxes of layers that follow each other, drawn from the top in columns. A part that is
// repeated is drawn once, in a frame that says how often.

const SVG = "http://www.w3.org/2000/svg";
const BOX = { width: 290, line: 18, pad: 6, gapX: 26, gapY: 20, lane: 12, column: 420 };  // pixels
const FAMILIES = [
  [/conv/, 0], [/linear|dense|attention|embed/, 1], [/pool|resize|upsample|flatten/, 2], [/^(add|concat|multiply|sum|squeeze)/, 3],
];

/// Attributes that tell networks apart come first; those that mostly have one value are only in the title.
const TOLD_FIRST = ["kernel", "channels", "features", "heads", "groups", "stride", "dilation"];
const TOLD_BELOW = new Set(["bias", "padding", "epsilon", "momentum", "eps", "affine"]);

/// Returns e.g. "kernel 5, channels 16".
function brief(attributes) {
  const names = Object.keys(attributes).filter((name) => !TOLD_BELOW.has(name) && !(name === "stride" && attributes[name] === "1"));
  const order = (name) => (TOLD_FIRST.includes(name) ? TOLD_FIRST.indexOf(name) : TOLD_FIRST.length);
  return names.sort((a, b) => order(a) - order(b)).map((name) => name.replaceAll("_", " ") + " " + attributes[name]).join(", ");
}

let chosen = { run: 0, number: null };

function startNetwork() {
  byId("network-trial").addEventListener("change", () => select(chosen.run, Number(byId("network-trial").value)));
  byId("network-copy").addEventListener("click", (event) => copyText(byId("network-export").textContent, event.target));
  const controls = byId("network-copy").parentElement;
  controls.append(saveButtons(["SVG"], "network", saveNetwork));
}

function svg(tag, attributes, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

/// Layers that only follow their input (a norm, an activation) share its box.
function boxesOf(layers) {
  const consumers = layers.map(() => 0);
  for (const layer of layers) for (const input of layer.inputs) ++consumers[input];
  const boxes = [{ layers: [], inputs: [], depth: 0, isInput: true }];
  const boxOf = [];
  layers.forEach((layer, i) => {
    const input = layer.inputs[0];
    const box = layer.inputs.length === 1 ? boxes[boxOf[input]] : null;
    if (box && layer.follows_input && consumers[input] === 1 && box.layers.at(-1) === input) {
      box.layers.push(i);
      boxOf.push(boxOf[input]);
      return;
    }
    const inputs = layer.inputs.length ? [...new Set(layer.inputs.map((each) => boxOf[each]))] : [0];
    boxes.push({ layers: [i], inputs, depth: 1 + Math.max(...inputs.map((each) => boxes[each].depth)) });
    boxOf.push(boxes.length - 1);
  });
  return boxes;
}

/// Returns what makes a box equal to another one, with its inputs as distances.
function signatureOf(box, i, layers) {
  const own = box.layers.map((index) => [layers[index].kind, layers[index].attributes, layers[index].output]);
  return JSON.stringify([own, box.inputs.map((input) => i - input)]);
}

/// Returns whether boxes `from` to `to` - 1 read only each other and the box before, and only their last one is read beyond.
function standsAlone(boxes, readUntil, from, to) {
  for (let i = from; i < to; ++i) {
    if (boxes[i].inputs.some((input) => input < from - 1)) return false;
    if (i < to - 1 && readUntil[i] >= to) return false;
  }
  return from === 0 || readUntil[from - 1] < to;
}

/// Folds parts that follow each other and are equal: keeps the first of them, with `times` at all its boxes.
function folded(boxes, layers) {
  const signatures = boxes.map((box, i) => signatureOf(box, i, layers));
  const readUntil = boxes.map((_, i) => i);  // the last box that reads a box
  boxes.forEach((box, i) => box.inputs.forEach((input) => { readUntil[input] = Math.max(readUntil[input], i); }));
  const kept = [];
  const newPlace = new Map();
  for (let i = 0; i < boxes.length;) {
    let best = { saved: 0, size: 1, times: 1 };
    for (let size = 1; i > 0 && i + 2 * size <= boxes.length; ++size) {
      let times = 1;
      const equal = (next) => next + size <= boxes.length && signatures.slice(next, next + size).every((signature, k) => signature === signatures[i + k]);
      if (!standsAlone(boxes, readUntil, i, i + size)) continue;
      while (equal(i + times * size) && standsAlone(boxes, readUntil, i + times * size, i + (times + 1) * size)) ++times;
      if (size * (times - 1) > best.saved) best = { saved: size * (times - 1), size, times };
    }
    for (let k = 0; k < best.size; ++k) {
      newPlace.set(i + k, kept.length);
      const fold = best.times > 1 ? { times: best.times, isFirst: k === 0, isLast: k === best.size - 1 } : null;
      kept.push({ ...boxes[i + k], inputs: boxes[i + k].inputs.map((input) => newPlace.get(input)), fold });
    }
    newPlace.set(i + best.size * best.times - 1, kept.length - 1);
    i += best.size * best.times;
  }
  for (const box of kept) box.depth = box.isInput ? 0 : 1 + Math.max(...box.inputs.map((input) => kept[input].depth));
  return kept;
}

/// Places boxes by depth. A new column begins where the one before is long enough and a single box is read across the
/// break; a port at the top of the new column represents that box.
function placeBoxes(boxes, available) {
  const depths = [];
  boxes.forEach((box, i) => (depths[box.depth] ??= []).push(i));
  const reach = depths.map((_, depth) => depth);  // depth of the deepest box that reads a box of each depth
  boxes.forEach((box) => box.inputs.forEach((input) => { const from = boxes[input].depth; reach[from] = Math.max(reach[from], box.depth); }));
  const total = depths.length * (heightOf(boxes[1] ?? boxes[0]) + BOX.gapY);
  const most = Math.max(BOX.column, total / Math.max(1, Math.floor(available / (BOX.width + 3 * BOX.gapX))));
  const columns = [{ width: 0, boxes: [] }];
  let top = 0, bottom = 0, before = 0;  // before: deepest box that reads a box above the last row
  depths.forEach((row, depth) => {
    const height = Math.max(...row.map((i) => heightOf(boxes[i])));
    const inFold = row.some((i) => boxes[i].fold && !boxes[i].fold.isFirst);
    let column = columns.at(-1);
    if (depth > 0 && top + height > most && !inFold && before < depth && depths[depth - 1].length === 1) {
      column = { width: 0, boxes: [], source: boxes[depths[depth - 1][0]] };
      columns.push(column);
      top = 0;
    }
    const width = row.length * BOX.width + (row.length - 1) * BOX.gapX;
    row.forEach((i, k) => {
      Object.assign(boxes[i], { column, place: k * (BOX.width + BOX.gapX) - width / 2, y: top, height: heightOf(boxes[i]) });
      column.boxes.push(boxes[i]);
    });
    column.width = Math.max(column.width, width);
    top += height + BOX.gapY;
    bottom = Math.max(bottom, top);
    before = Math.max(before, depth > 0 ? reach[depth - 1] : 0);
  });
  let left = 0;
  const edges = columns.flatMap((column) => {
    const middle = left + column.width / 2;
    for (const box of column.boxes) box.x = middle + box.place;
    column.left = left;
    if (column.source) column.port = { x: middle - BOX.width / 2, y: -BOX.gapY / 2, height: 0, depth: column.source.depth };
    const own = edgesOf(column, boxes);
    left += column.width + BOX.lane * own.lanes + 2.2 * BOX.gapX;
    return own.edges;
  });
  return { columns, edges, width: left - 2.2 * BOX.gapX, height: bottom - BOX.gapY };
}

/// Draws the edges into the boxes of a column. Edges that pass boxes get lanes at its right side, short ones inside.
function edgesOf(column, boxes) {
  const edges = column.boxes.flatMap((to) => to.inputs.map((input) => ({ from: boxes[input].column === column ? boxes[input] : column.port, to })));
  const passing = edges.filter(({ from, to }) => to.depth - from.depth > 1).sort((a, b) => (a.to.depth - a.from.depth) - (b.to.depth - b.from.depth));
  const lanes = [];
  for (const edge of passing) {
    const isFree = (lane) => lane.every(({ from, to }) => to.depth <= edge.from.depth || from.depth >= edge.to.depth);
    let index = lanes.findIndex(isFree);
    if (index < 0) index = lanes.push([]) - 1;
    lanes[index].push(edge);
    edge.side = column.left + column.width + BOX.lane * (index + 1);
  }
  return { edges, lanes: lanes.length };
}

function heightOf(box) { return 2 * BOX.pad + BOX.line * (box.isInput ? 1 : 2); }

/// Draws the edge from the last box of a column to the port of the next one.
function trunkPath({ source, port, left }) {
  const x1 = source.x + BOX.width / 2;
  return `M${x1},${source.y + source.height} v${BOX.gapY / 2} H${left - 1.1 * BOX.gapX} V${port.y} H${port.x + BOX.width / 2}`;
}

function edgePath({ from, to, side }) {
  const x1 = from.x + BOX.width / 2, y1 = from.y + from.height, x2 = to.x + BOX.width / 2, y2 = to.y;
  if (side === undefined && Math.abs(x1 - x2) < 1) return `M${x1},${y1} V${y2}`;
  if (side === undefined) return `M${x1},${y1} C${x1},${y1 + 16} ${x2},${y2 - 16} ${x2},${y2}`;
  const start = from.height === 0 ? x1 : x1 + BOX.width * 0.3, end = x2 + BOX.width * 0.3;
  return `M${start},${y1} C${start},${y1 + 14} ${side},${y1 + 4} ${side},${y1 + 24} V${y2 - 24} C${side},${y2 - 4} ${end},${y2 - 14} ${end},${y2}`;
}

function boxElement(box, layers, input) {
  const main = box.isInput ? null : layers[box.layers[0]];
  const family = main && FAMILIES.find(([pattern]) => pattern.test(main.kind));
  const colour = family ? colours()[family[1]] : css("soft");
  const group = svg("g", { transform: `translate(${box.x},${box.y})` });
  group.append(svg("rect", { width: BOX.width, height: box.height, rx: 7, fill: css("card"), stroke: box.isInput ? css("quiet") : colour, "stroke-width": 1.3 }));
  const write = (line, ...parts) => group.append(svg("text", { x: 12, y: BOX.pad + 13 + BOX.line * line, fill: css("soft") }, ...parts));
  if (box.isInput) { write(0, "input " + input); return group; }
  group.append(svg("rect", { width: 4, height: box.height - 10, x: 0, y: 5, rx: 2, fill: colour }));
  const words = (index) => layers[index].kind.replaceAll("_", " ");
  const followers = box.layers.slice(1).map((index) => " + " + words(index)).join("");
  write(0, svg("tspan", { fill: css("text"), "font-weight": 600 }, words(box.layers[0])), shortened(followers, 37 - words(box.layers[0]).length));
  write(1, shortened(brief(main.attributes), 30));
  const title = box.layers.map((index) => {
    const layer = layers[index];
    const attributes = Object.entries(layer.attributes).map(([name, value]) => name + " " + value).join(", ");
    return [layer.name, attributes, "output " + layer.output, number(layer.parameters) + " parameters, " + number(layer.flops) + " FLOPs"].filter(Boolean).join("\n");
  }).join("\n\n");
  group.append(svg("title", {}, title));
  group.append(svg("text", { x: BOX.width - 9, y: BOX.pad + 13 + BOX.line, "text-anchor": "end", fill: css("soft") }, layers[box.layers.at(-1)].output));
  return group;
}

/// Returns the boxes of each folded part.
function foldedParts(boxes) {
  const parts = [];
  for (const box of boxes) {
    if (box.fold?.isFirst) parts.push([]);
    if (box.fold) parts.at(-1).push(box);
  }
  return parts;
}

/// Draws the frame around a part that is repeated and its edges, with the number of times.
function frameElement(part, edges) {
  const room = 7;
  const sides = edges.filter(({ to, side }) => side !== undefined && part.includes(to)).map(({ side }) => side);
  const [x] = extent(part.map((box) => box.x)), [y] = extent(part.map((box) => box.y));
  const [, right] = extent([...part.map((box) => box.x + BOX.width), ...sides]), [, bottom] = extent(part.map((box) => box.y + box.height));
  return svg("g", {},
    svg("rect", { x: x - room, y: y - room, width: right - x + 2 * room, height: bottom - y + 2 * room, rx: 9, fill: "none", stroke: css("soft"), "stroke-dasharray": "4 3" }),
    svg("text", { x: right + room + 5, y: y + 8, fill: css("text"), "font-weight": 600 }, "× " + part[0].fold.times));
}

function drawNetwork(run, number) {
  const frame = byId("network-graph");
  const network = run.networks[number];
  frame.hidden = !network;
  if (!network) return;
  const boxes = folded(boxesOf(network.layers), network.layers);
  const size = placeBoxes(boxes, frame.clientWidth);
  const margin = 18;
  const drawing = svg("svg", {
    xmlns: SVG, width: size.width + 4 * margin, height: size.height + 2 * margin,
    viewBox: `${-margin} ${-margin} ${size.width + 4 * margin} ${size.height + 2 * margin}`, role: "img", "aria-label": "Layer graph of trial " + number,
  });
  const line = (path) => drawing.append(svg("path", { d: path, fill: "none", stroke: css("quiet"), "stroke-width": 1.5 }));
  for (const column of size.columns) if (column.port) line(trunkPath(column));
  for (const edge of size.edges) line(edgePath(edge));
  for (const part of foldedParts(boxes)) drawing.append(frameElement(part, size.edges));
  for (const box of boxes) drawing.append(boxElement(box, network.layers, network.input));
  frame.replaceChildren(drawing);
}

function saveNetwork() {
  const drawing = byId("network-graph").querySelector("svg");
  if (!drawing) return;
  const copy = drawing.cloneNode(true);
  copy.setAttribute("font-family", "sans-serif");
  copy.setAttribute("font-size", "12");
  const url = URL.createObjectURL(new Blob([new XMLSerializer().serializeToString(copy)], { type: "image/svg+xml" }));
  make("a", { href: url, download: "skyline-trial-" + chosen.number + ".svg" }).click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}

/// Shows a trial of a run below, and marks it in the table.
function select(runIndex, number, scroll = false) {
  chosen = { run: runIndex, number };
  showChosen();
  markSelected();
  if (scroll) byId("network").scrollIntoView();
}

function showChosen() {
  showNetwork();
  showAnswers();
}

function markSelected() {
  for (const row of byId("trials").tBodies[0].rows) {
    row.classList.toggle("selected", Number(row.dataset.run) === chosen.run && Number(row.dataset.trial) === chosen.number);
  }
}

function showNetwork() {
  const run = RUNS[chosen.run];
  const listed = [...new Set([...run.bestRows, ...run.frontRows].map((row) => run.number(row)))];
  if (chosen.number === null || !run.rowOf.has(chosen.number)) chosen.number = listed[0] ?? null;
  byId("network").hidden = chosen.number === null;
  if (chosen.number === null) return;
  if (!listed.includes(chosen.number)) listed.unshift(chosen.number);
  byId("network-trial").replaceChildren(...listed.map((each) => make("option", { value: each }, (RUNS.length > 1 ? run.name + " " : "") + each + (run.isDisproved(run.rowOf.get(each)) ? " (not on the final front)" : ""))));
  byId("network-trial").value = chosen.number;
  byId("network-export").parentElement.querySelectorAll("code, button").forEach((each) => { each.hidden = !run.isKept(chosen.number); });
  byId("network-export").textContent = run.exportLine(chosen.number);
  const row = run.rowOf.get(chosen.number);
  const pairs = trialPairs(run, run.resultOf(row)).map(([name, value]) => name + " " + value);
  byId("network-text").textContent = pairs.join(" · ") + (run.networks[chosen.number] || !run.has_network ? "" : " · The graph is kept for the first trials of the front.");
  drawNetwork(run, chosen.number);
}

SECTIONS.push({ start: startNetwork, show: showChosen });
