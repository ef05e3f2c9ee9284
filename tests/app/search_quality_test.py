"""The comparisons of algorithms, scripts/bench/search_quality and budgets: curves, bands, tests and peers of a small space."""

import csv
import importlib.machinery
import importlib.util
import itertools
import json
import subprocess
import sys
import types
import unittest
import xml.etree.ElementTree

from skyline_runs import PROGRAM, SOURCE, RunsCase

SCRIPT = SOURCE / "scripts/bench/search_quality"
CONFIG = """
data: {shape: [1, 8, 8], classes: 10}
table: {file: table.csv, metrics: [{name: validation_accuracy, column: accuracy, range: [0, 1]}]}
space:
  parameters:
    depth: {range: [1, 3]}
    kernel: {choice: [1, 3]}
    width: {choice: [4, 8]}
  network:
    - {repeat: $depth, body: [conv2d: {channels: $width, kernel: $kernel}, relu]}
    - global_average_pool
    - linear: {features: $classes}
objectives: [{maximize: validation_accuracy}, {minimize: flops}]
search: {algorithm: random}
"""


def load(name="search_quality"):
    sys.dont_write_bytecode = True
    loader = importlib.machinery.SourceFileLoader(name, str(SCRIPT.with_name(name)))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    sys.path.insert(0, str(SOURCE / "scripts/bench"))  # the entry that Python adds for a started script
    loader.exec_module(module)
    return module


class SearchQuality(RunsCase):
    def compare(self, *arguments, script=SCRIPT):
        (self.folder / "small.yaml").write_text(CONFIG)
        rows = itertools.product((1, 2, 3), (1, 3), (4, 8))
        (self.folder / "table.csv").write_text("depth,kernel,width,accuracy,short\n" + "".join(
            f"{depth},{kernel},{width},{0.9 - 0.1 * abs(depth - 2) - 0.03 * abs(kernel - 2 - width // 8)},{0.1 * depth}\n"
            for depth, kernel, width in rows))
        done = subprocess.run([sys.executable, script, "small.yaml", "--build", PROGRAM.parent.parent, *arguments],
                              cwd=self.folder, capture_output=True, text=True, timeout=600)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def test_all_find_the_best_and_the_whole_volume_once_they_have_tried_everything(self):
        text = self.compare("--jobs", "2", "--seeds", "3", "--trials", "12", "--marks", "4", "12", "--peer", "random", "-o", "out",
                            "--algorithm", "random", "--algorithm", "walk={algorithm: exhaustive}")
        rows = {line[:12].strip(): line.split() for line in text.splitlines()[1:4]}
        self.assertEqual(list(rows), ["random", "walk", "peer random"])
        for row in rows.values():
            self.assertEqual((row[-3], row[-1]), ("0.00000", "1.00000"), "regret and share of the volume after 12 trials")
        with open(self.folder / "out/curves.csv", encoding="utf-8") as file:
            curves = list(csv.DictReader(file))
        self.assertEqual(len(curves), 3 * 2 * 12)
        for row in curves:
            self.assertLessEqual(float(row["p05"]), float(row["mean"]) + 1e-12)
            self.assertLessEqual(float(row["mean"]), float(row["p95"]) + 1e-12)
        picture = xml.etree.ElementTree.parse(self.folder / "out/curves.svg").getroot()
        self.assertEqual(len(picture.findall("{*}polyline")), 6)
        self.assertTrue((self.folder / "out/tests.csv").read_text().startswith("quantity,trials,better,than,p\n"))

    def test_compares_the_algorithms_of_the_program_unless_others_are_asked_for(self):
        text = self.compare("--jobs", "2", "--seeds", "1", "--trials", "6", "--marks", "6")
        self.assertRegex(text, r"(?m)^evolution_pareto +1 ")
        self.assertRegex(text, r"(?m)^random +1 ")

    def test_budgets_are_compared_by_what_trainings_cost(self):
        text = self.compare("--seeds", "2", "--share", "0.999", "--whole", "{algorithm: exhaustive}", "--peer", "random",
                            "--search", "rungs={algorithm: mo_asha, trials: 99, budgets: [1, 3]}", "--rungs", "1", "3",
                            "--set", "table.metrics=[{name: validation_accuracy, column: {1: short, 3: accuracy}, range: [0, 1]}]",
                            "--set", "table.epochs=3", script=SCRIPT.parent / "budgets")
        self.assertRegex(text, r"(?m)^seed 2: rungs: (\d\.\d\d|inf) of the epochs, (\d\.\d\d|inf) of epochs times MACs$")
        self.assertRegex(text, r"(?m)^peer random: epochs: mean (0\.\d\d|1\.\d\d|2\.\d\d) .*, 2 seeds$", "it finds all in the end")

    def test_the_signed_rank_test_is_that_of_textbooks(self):
        p = load().signed_rank_p
        self.assertEqual(p([0.3, 0.1, 0.2]), 1 / 8)
        self.assertEqual(p([0.3, -0.1, 0.2]), 2 / 8)
        self.assertEqual(p([0, 0]), 1)
        # Of scipy 1.17: wilcoxon(..., alternative="greater", method="approx", correction=True)
        self.assertAlmostEqual(p([1, 1, 2, -1, 3, 2, -2, 1]), 0.0998430, 6)

    def test_functions_are_searched_by_programs_and_at_random_with_true_regrets(self):
        words = [f"now={PROGRAM}", "control=random", "--seeds", "2", "--trials", "7", "--marks", "1", "7", "--jobs", "2", "--function",
                 "mixture", "--function", "training, noise .05", "-o", "curves.json"]
        done = subprocess.run([sys.executable, SCRIPT.with_name("function_quality"), *words], cwd=self.folder, capture_output=True,
                              text=True, timeout=600)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertRegex(done.stdout, r"(?m)^ +now 1 +now 7 +control 1 +control 7$")
        curves = json.loads((self.folder / "curves.json").read_text())
        self.assertEqual([(curve["searcher"], curve["seed"]) for curve in curves], [("now", 1), ("now", 2)] * 2 + [("control", 1), ("control", 2)] * 2)
        for curve in curves:
            self.assertEqual(len(curve["regrets"]), 7)
            self.assertGreaterEqual(min(curve["regrets"]), 0)
            if curve["function"] == "mixture":
                self.assertEqual(curve["regrets"], sorted(curve["regrets"], reverse=True))
        for words, problem in ((["skyline"], "expected LABEL=SEARCHER, such as before=/tmp/skyline"),
                               (["--values", "1"], "--values: expected at least 2, got 1"),
                               (["--window", "0"], "--window: expected a number of trials, got 0")):
            done = subprocess.run([sys.executable, SCRIPT.with_name("function_quality"), *words], capture_output=True, text=True,
                                  timeout=600)
            self.assertEqual((done.returncode, done.stderr.splitlines()[-1]), (2, f"function_quality: error: {problem}"))

    def functions(self, *words):
        done = subprocess.run([sys.executable, SCRIPT.with_name("function_quality"), *words], cwd=self.folder, capture_output=True,
                              text=True, timeout=600)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def test_two_objectives_are_measured_by_the_share_of_the_volume_that_is_missing(self):
        self.functions(f"now={PROGRAM}", "control=random", "--seeds", "1", "--trials", "6", "--marks", "6", "--function", "zdt2", "-o",
                       "curves.json")
        for curve in json.loads((self.folder / "curves.json").read_text()):
            self.assertEqual(len(curve["regrets"]), 6)
            self.assertEqual(curve["regrets"], sorted(curve["regrets"], reverse=True))
            self.assertTrue(0 < curve["regrets"][-1] < 1, curve)
        load()
        from numeric_functions import all_functions
        zdt1, zdt2, dtlz2 = (one for one in all_functions() if one.objectives == 2)
        flat = {f"x{i}": 0 for i in range(1, 6)}
        for function, rest in ((zdt1, flat), (zdt2, flat), (dtlz2, dict.fromkeys(flat, 50))):
            curve = function.curve(1)
            values = [curve.measure({"x0": place, **rest}) for place in range(101)]
            self.assertEqual(sorted(values[0]), [0, 1])
            self.assertAlmostEqual(curve.regrets[-1], 0, delta=0.02, msg="of the front on the grid, little is missing")
            self.assertGreaterEqual(curve.regrets[-1], 0)
        curve = zdt1.curve(1)
        curve.measure({"x0": 0, **dict.fromkeys(flat, 100)})  # (0, 10) of a box to (11, 11)
        self.assertAlmostEqual(curve.regrets[-1], 1 - 11 / (121 - 1 / 3))

    def test_searchers_may_have_seeds_of_their_own_and_are_paired_where_both_have_one(self):
        words = ["--trials", "5", "--marks", "5", "--function", "steps"]
        self.functions("many=random", "--seeds", "3", "-o", "many.json", *words)
        text = self.functions("few=random", "--seeds", "1", "--earlier", "many.json", "-o", "all.json", *words)
        curves = json.loads((self.folder / "all.json").read_text())
        self.assertEqual([(curve["searcher"], curve["seed"]) for curve in curves], [("many", 1), ("many", 2), ("many", 3), ("few", 1)])
        self.assertEqual(curves[0]["regrets"], curves[3]["regrets"])
        self.assertRegex(text, r"(?m)^steps +\d\.\d{4} +\d\.\d{4}$")
        shown = self.functions("--earlier", "all.json", *words)
        self.assertEqual(shown, text, "nothing is searched again")
        longer = self.functions("last=random", "--seeds", "2", "--earlier", "many.json", "--trials", "7", "--marks", "5", "7", *words[4:])
        self.assertRegex(longer, r"(?m)^ +many 5 +many 7 +last 5 +last 7$")
        self.assertRegex(longer, r"(?m)^steps +\d\.\d{4} +- +\d\.\d{4} +\d\.\d{4}$", "three searches ended after 5 trials")
        done = subprocess.run([sys.executable, SCRIPT.with_name("function_quality"), "--earlier", "none.json"], cwd=self.folder,
                              capture_output=True, text=True, timeout=600)
        self.assertEqual(done.returncode, 2)
        self.assertIn("none.json: expected curves that -o wrote", done.stderr.splitlines()[-1])

    def test_others_are_asked_and_told_by_the_names_of_the_parameters(self):
        load()
        import searched_peers

        class Table:
            sizes, trials, asked = [3, 4], 2, []

            def is_done(self):
                return len(self.asked) == self.trials

            def __call__(self, genotype):
                self.asked.append(list(genotype))
                return [0.5] if len(self.asked) == 1 else []

        told, table = [], Table()

        def begin(numbers, words, maximize, seed, trials):
            told.append((numbers, words, maximize, seed, trials))
            return lambda: ("trial", {"p0": 2, "p1": len(told)}), lambda trial, values: told.append((trial, values))

        searched_peers.asked_search({"maximize": [True], "seed": 7, "trials": 2}, table, begin)
        self.assertEqual(told, [({}, {"p0": 3, "p1": 4}, [True], 7, 2), ("trial", [0.5]), ("trial", [])])
        self.assertEqual(table.asked, [[2, 1], [2, 2]])

    def test_functions_have_the_values_of_numbers_that_are_asked_for(self):
        words = ["control=random", "--values", "2", "--seeds", "1", "--trials", "100", "--function", "rosenbrock on logs", "-o",
                 "curves.json"]
        done = subprocess.run([sys.executable, SCRIPT.with_name("function_quality"), *words], cwd=self.folder, capture_output=True,
                              text=True, timeout=600)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        load()
        from numeric_functions import all_functions
        function = next(one for one in all_functions() if one.name == "rosenbrock on logs")
        corners = [function.value(corner, []) / function.scale for corner in itertools.product((0, 1), repeat=4)]
        [curve] = json.loads((self.folder / "curves.json").read_text())
        self.assertAlmostEqual(curve["regrets"][-1], min(corners))

    def test_a_window_keeps_so_many_trials_under_way(self):
        events, numbers = [], itertools.count()
        curve = types.SimpleNamespace(measure=lambda choices: -choices["x"])

        def ask():
            number = next(numbers)
            events.append(f"ask {number}")
            return number, {"x": number}

        load("function_quality").play(curve, 4, 2, ask, lambda number, value: events.append(f"tell {number}: {value}"))
        self.assertEqual(events, ["ask 0", "ask 1", "tell 0: 0", "ask 2", "tell 1: -1", "ask 3", "tell 2: -2", "tell 3: -3"])


if __name__ == "__main__":
    unittest.main()
