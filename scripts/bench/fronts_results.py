"""Networks of final fronts beside known ones: which are chosen, by validation alone, and how they are shown."""

import csv
import json
import math
import statistics

from curve_statistics import aligned

INT8_COSTS = "int8_weight_bytes", "int8_peak_activation_bytes"
FIELDS = ("task", "seed", "search", "network", "macs", "parameters", *INT8_COSTS, "validation", "test", "test_samples", "int8_test",
          "trials", "epochs", "wall_s", "cpu_s")
COLOURS = ("#0969da", "#cf222e", "#1a7f37", "#8250df", "#9a6700")
SHARES = (1, 1 / 2, 1 / 3, 1 / 5, 1 / 10)  # parts of the known network's MACs, up to which a network is chosen
MARKS = ("◆", "l7 7l-7 7l-7 -7z"), ("▲", "l7 12h-14z")  # of known networks, as letters and as paths from their upper ends
WIDTH, HEIGHT, LEFT, TOP, RIGHT = 640, 360, 60, 40, 610


def rows_of(folder, task, seed, search, known, times):
    """Returns a row of FIELDS for each network on a run's final front. Test values are those of the model: of the refit if
    there is one. Of a measure where small is better both values are negative.
    @param known  name of the network, of a run that trains one; None: of a search
    @param times  wall_s and cpu_s of the run"""
    pareto = json.loads((folder / "pareto.json").read_text())
    measure = pareto["objectives"][0]
    sign = 1 if measure["sense"] == "maximize" else -1
    tested = measure["metric"].replace("validation", "test")
    samples = pareto["yardsticks"].get(tested, {}).get("samples", "")
    trials = json.loads((folder / "models.json").read_text())["trials"]
    rows = []
    for trial in pareto["final_front"]:
        model = trial.get("refit", trial)
        values = model.get("metrics", model)
        costs = trial["costs"]
        int8 = values.get(f"int8_{tested}")
        rows.append(dict(zip(FIELDS, (
            task, seed, search, known or f"trial {trial['trial']}", costs["macs"], costs["parameters"],
            *(costs.get(cost, "") for cost in INT8_COSTS), sign * trial["metrics"][measure["metric"]], sign * values[tested], samples,
            "" if int8 is None else sign * int8, sum(one["phase"] == "search" for one in trials), trial["epochs"],
            times["wall_s"], times["cpu_s"]))))
    return rows


def write_rows(path, rows):
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def interval(share, samples):
    """Wilson's at 95 %."""
    z = 1.959964
    middle = share + z * z / (2 * samples)
    half = z * math.sqrt(share * (1 - share) / samples + z * z / (4 * samples * samples))
    return (middle - half) / (1 + z * z / samples), (middle + half) / (1 + z * z / samples)


def best_within(rows, cost, bound):
    """Returns the row with the best validation value, of equal ones the cheaper one; None if none is so cheap."""
    return max((row for row in rows if row[cost] <= bound), key=lambda row: (row["validation"], -row[cost]), default=None)


def cheapest_as_good(rows, cost, value):
    """Returns the cheapest row with at least this validation value; None if there is none."""
    return min((row for row in rows if row["validation"] >= value), key=lambda row: row[cost], default=None)


def mean_line(label, rows, independent, decimals=4):
    """Returns the cells of a table's line: means over seeds.
    @param independent  whether each seed has test samples of its own"""
    mean = lambda field: statistics.fmean(row[field] for row in rows)
    value = lambda number: f"{abs(number):.{decimals}f}"
    line = [label, f"{mean('macs'):,.0f}", f"{mean('parameters'):,.0f}"]
    line += [f"{mean(cost):,.0f}" if rows[0][cost] != "" else "" for cost in INT8_COSTS]
    line.append(value(mean("test")))
    samples = rows[0]["test_samples"]
    if samples == "":
        line.append("")
    else:
        low, high = interval(mean("test"), samples * (len(rows) if independent else 1))
        line.append(f"{value(low)} to {value(high)}")
    line.append(", ".join(value(row["test"]) for row in rows))
    line.append(value(mean("int8_test")) if rows[0]["int8_test"] != "" else "")
    return line


HEAD = ["", "MACs", "parameters", "int8 bytes", "int8 RAM", "test", "95 % of the samples", "each seed", "int8 test"]


def by_cost(rows, known, independent, bounds):
    """Returns lines of a table: each known network, the cheapest networks that validate as well, and for each bound of the MACs
    those that validate best.
    @param rows, known  of all seeds
    @param bounds  by their label"""
    of_seed = lambda seed: [row for row in rows if row["seed"] == seed]
    networks = {}
    for row in known:
        networks.setdefault(row["network"], []).append(row)
    lines = [mean_line(name, trained, independent) for name, trained in networks.items()]
    chosen = {f"front, as good as {name}": [cheapest_as_good(of_seed(one["seed"]), "macs", one["validation"]) for one in trained]
              for name, trained in networks.items()}
    seeds = sorted({row["seed"] for row in rows})
    chosen |= {label: [best_within(of_seed(seed), "macs", bound) for seed in seeds] for label, bound in bounds.items()}
    for label, found in chosen.items():
        lines.append(mean_line(label, found, independent) if all(found) else [label, *["-"] * (len(HEAD) - 1)])
    return lines


def at_equal_accuracy(rows, known):
    """Returns lines: for each known network and seed the cheapest network whose validation value is that one's or better."""
    lines = [["seed", "beside", "cheapest", "MACs", "part of the known one's", "test", "known network's test"]]
    for one in known:
        found = cheapest_as_good([row for row in rows if row["seed"] == one["seed"]], "macs", one["validation"])
        cells = [found["network"], f"{found['macs']:,}", f"{found['macs'] / one['macs']:.2f}",
                 f"{found['test']:.4f}"] if found else ["none", "", "", ""]
        lines.append([one["seed"], one["network"], *cells, f"{one['test']:.4f}"])
    return lines


def summary(rows, known, independent):
    """Returns the text of a task: networks by their cost, and the cheapest ones that are as good as the known network."""
    macs = known[0]["macs"]
    bounds = {f"front, {share:.2g} of the MACs": share * macs for share in SHARES}
    largest = max(row["macs"] for row in rows)
    if largest > macs:
        bounds = {"front, any MACs": largest, **bounds}
    return (aligned([HEAD, *by_cost(rows, known, independent, bounds)]) + "\n\nat the known network's validation accuracy:\n" +
            aligned(at_equal_accuracy(rows, known)))


def write_picture(path, title, rows, known):
    """Test accuracy over MACs: a line for each seed's front, a mark for each of its known networks."""
    both, names = [*rows, *known], list(dict.fromkeys(row["network"] for row in known))
    ends = [math.log10(end(row["macs"] for row in both)) for end in (min, max)]
    low = math.floor(20 * min(row["test"] for row in both)) / 20
    high = min(1.0, math.ceil(20 * max(row["test"] for row in both) + 1e-9) / 20)
    x = lambda macs: LEFT + (RIGHT - LEFT) * (math.log10(macs) - ends[0] + 0.05) / (ends[1] - ends[0] + 0.1)
    y = lambda value: TOP + (HEIGHT - TOP - 50) * (high - value) / (high - low)
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="Helvetica, Arial, sans-serif" '
             f'font-size="12" role="img" aria-label="{title}">',
             "<style>text { fill: #1f2328 } .line { stroke: #d1d9e0; fill: none } @media (prefers-color-scheme: dark) { "
             "text { fill: #f0f6fc } .line { stroke: #3d444d } }</style>",
             f'<text x="{LEFT}" y="20" font-weight="bold">{title}</text>']
    steps = round(20 * (high - low))
    for step in range(0, steps + 1, max(1, steps // 6)):
        value = low + step / 20
        parts.append(f'<path class="line" d="M{LEFT} {y(value):.1f}H{RIGHT}"/>'
                     f'<text x="{LEFT - 6}" y="{y(value) + 4:.1f}" text-anchor="end">{value:.2f}</text>')
    for power in range(math.floor(ends[0]), math.ceil(ends[1]) + 1):
        for digit, macs in ((digit, digit * 10 ** power) for digit in (1, 2, 5)):
            if LEFT <= x(macs) <= RIGHT:
                text = f"{macs / 1e6:g} M" if macs >= 1e6 else f"{macs / 1e3:g} k"
                parts.append(f'<path class="line" d="M{x(macs):.1f} {TOP}V{HEIGHT - 50}"/>'
                             f'<text x="{x(macs):.1f}" y="{HEIGHT - 34}" text-anchor="middle">{text}</text>')
    parts.append(f'<text x="{RIGHT}" y="{HEIGHT - 14}" text-anchor="end">MACs of a sample; test accuracy upwards</text>')
    for index, seed in enumerate(sorted({row["seed"] for row in rows})):
        colour = COLOURS[index % len(COLOURS)]
        front = sorted((row["macs"], row["test"]) for row in rows if row["seed"] == seed)
        parts.append(f'<polyline points="{" ".join(f"{x(a):.1f},{y(b):.1f}" for a, b in front)}" fill="none" stroke="{colour}"/>')
        parts += [f'<circle cx="{x(a):.1f}" cy="{y(b):.1f}" r="3" fill="{colour}"/>' for a, b in front]
        for row in (row for row in known if row["seed"] == seed):
            at = x(row["macs"]), y(row["test"])
            parts.append(f'<path d="M{at[0]:.1f} {at[1] - 7:.1f}{MARKS[names.index(row["network"])][1]}" fill="{colour}"/>')
        parts.append(f'<text x="{LEFT + 80 * index}" y="{HEIGHT - 14}" style="fill: {colour}">seed {seed}</text>')
    for index, name in enumerate(names):
        at = LEFT + 80 * len({row["seed"] for row in rows}) + 110 * index
        parts.append(f'<text x="{at}" y="{HEIGHT - 14}">{MARKS[index][0]} {name}</text>')
    path.write_text("\n".join([*parts, "</svg>\n"]), encoding="utf-8")
