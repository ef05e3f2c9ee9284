"""Metrics that are known before a training: those that expressions give, and searches that train nothing."""

import csv
import json
import unittest

from skyline_runs import RunsCase, read_json

TRAINER = """#!/bin/sh
echo "{\\"result\\": {\\"score\\": $(($1 * 7 + $2 % 5))}}" > "$SKYLINE_REPORT_FILE"
"""
CONFIG = """
space: {parameters: {layers: {range: [1, 6]}, width: {choice: [4, 7, 9, 16, 21, 32, 50]}}}
command:
  run: [sh, train.sh, "{layers}", "{width}"]
  deterministic: true
  metrics:
    score: {better: higher, range: [0, 100]}
    params: {is: "$layers * $width ** 2 + 10 * $width", unit: weights}
    load: {is: $width / $layers}
objectives: [maximize: score, minimize: params]
constraints: [params: [300, 3000], load: [1.5, .inf]]
search: {trials: 14}
run: {window: 2}
"""
NETWORKS = """
data: {shape: [1, 8, 8], classes: 10}
space:
  parameters: {width: {choice: [4, 8, 16, 32]}, kernel: {choice: [1, 3, 5]}, deep: {choice: [1, 2, 3]}}
  network:
    - repeat: $deep
      body: [{conv2d: {channels: $width, kernel: $kernel}}, relu]
    - global_average_pool
    - linear: {features: $classes}
objectives: [maximize: parameters, minimize: peak_activation_bytes]
constraints: [flops: [0, 1.0e6]]
search: {trials: 12}
"""


def is_within(parameters):
    layers, width = parameters["layers"], parameters["width"]
    return 300 <= layers * width ** 2 + 10 * width <= 3000 and width / layers >= 1.5


class Given(RunsCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        (cls.folder / "train.sh").write_text(TRAINER)
        (cls.folder / "a.yaml").write_text(CONFIG)
        (cls.folder / "networks.yaml").write_text(NETWORKS)
        cls().skyline("search", "a.yaml", "--run", "run")

    def test_no_architecture_outside_of_a_bound_is_trained(self):
        trials = read_json(self.folder / "run/models.json")["trials"]
        self.assertEqual(len(trials), 14)
        for trial in trials:
            self.assertTrue(is_within(trial["parameters"]), trial)
            self.assertEqual(trial["status"], "ok")

    def test_results_have_the_values_and_the_journal_measures_none(self):
        for trial in read_json(self.folder / "run/models.json")["trials"]:
            layers, width = trial["parameters"]["layers"], trial["parameters"]["width"]
            self.assertEqual(trial["costs"], {"params": layers * width ** 2 + 10 * width, "load": width / layers})
            self.assertEqual(list(trial["metrics"]), ["score"])
        with (self.folder / "run/search_state.csv").open() as file:
            for row in csv.DictReader(file):
                self.assertEqual(int(row["params"]), int(row["layers"]) * int(row["width"]) ** 2 + 10 * int(row["width"]))
                self.assertEqual(float(row["load"]), int(row["width"]) / int(row["layers"]))
        header, *lines = map(json.loads, self.canonical("run").splitlines())
        self.assertNotIn("params", json.dumps(header["metrics"]))
        self.assertTrue(all(list(line["metrics"]) == ["score"] for line in lines))
        front = read_json(self.folder / "run/pareto.json")
        self.assertEqual([objective["metric"] for objective in front["objectives"]], ["score", "params"])
        self.assertIsInstance(front["search_front"][0]["objectives"]["params"], int)
        self.assertIsInstance(front["search_front"][0]["constraints"]["load"], float)
        self.assertIn("params", self.skyline("status", "run").stdout)

    def test_journals_are_equal_for_any_ranks_and_after_a_kill(self):
        for ranks in (2, 3):
            self.skyline("search", "a.yaml", "--run", f"ranks{ranks}", ranks=ranks)
            self.assertEqual(self.canonical(f"ranks{ranks}"), self.canonical("run"))
        self.kill_after(5, "search", "a.yaml", "--run", "killed", ranks=2)
        self.skyline("search", "a.yaml", "--run", "killed", "--resume", ranks=3)
        self.assertEqual(self.canonical("killed"), self.canonical("run"))
        self.skyline("search", "--run", "killed", "--resume")  # by its own configuration

    def test_every_algorithm_keeps_the_bounds(self):
        for algorithm in ("random", "nsga2", "local_search", "mo_bananas", "exhaustive"):
            trials = "" if algorithm == "exhaustive" else ", trials: 8"
            self.skyline("search", "a.yaml", "--set", f"search={{algorithm: {algorithm}{trials}}}", "--run", algorithm)
            for trial in read_json(self.folder / algorithm / "models.json")["trials"]:
                self.assertTrue(is_within(trial["parameters"]), trial)

    def test_another_expression_is_another_run(self):
        refused = self.skyline("search", "a.yaml", "--set", "command.metrics.load.is=$width", "--run", "run", "--resume", expect=2)
        self.assertIn("command.metrics.load.is", refused.stderr)

    def test_validate_tells_the_values_of_the_space_and_what_has_none(self):
        told = self.skyline("validate", "a.yaml").stdout
        self.assertIn("# space: load 1.500 to 50, params 333 to 3.000 k\n", told)
        self.assertRegex(told, r"# space: \d+ \(\d+ %\) break the constraint `params: \[300, 3000\]`")
        told = self.skyline("validate", "a.yaml", "--set", "command.metrics.load.is=$width / ($layers - 2)").stdout
        self.assertRegex(told, r"# space: 7 \(17 %\) lack a metric, e.g. .*command.metrics.load.is: `\$width / \(\$layers - 2\)` has no "
                               r"value: 4 / 0, for layers=2 width=4")

    def test_a_bound_that_nothing_meets_is_refused_before_a_run_is_made(self):
        refused = self.skyline("search", "a.yaml", "--set", "constraints=[params: [0, 7]]", "--run", "none", expect=2)
        self.assertRegex(refused.stderr, r"skyline: .*constraints: no valid architecture: of 42, 42 fail `params: \[0, 7\]` \(smallest "
                                         r"found: 56\)")
        self.assertFalse((self.folder / "none").exists())

    def test_a_training_of_ours_has_them_too(self):
        (self.folder / "training.yaml").write_text(f"""
data: {{file: {self.digits}}}
space: {{parameters: {{width: {{choice: [4, 8, 12, 16]}}}}, network: [flatten, linear: {{features: $width}}, relu, linear: {{features: $classes}}]}}
training: {{epochs: 0.2, metrics: [accuracy, {{share: {{is: "$parameters / $width", range: [0, 1000]}}}}]}}
objectives: [maximize: validation_accuracy, minimize: share]
constraints: [share: [0, 76.0]]
search: {{algorithm: exhaustive}}
""")
        for run, ranks in (("ours1", 0), ("ours2", 2)):
            self.skyline("search", "training.yaml", "--run", run, ranks=ranks)
        self.assertEqual(self.canonical("ours1"), self.canonical("ours2"))
        trials = read_json(self.folder / "ours1/models.json")["trials"]
        self.assertEqual([trial["parameters"]["width"] for trial in trials], [12, 16], "(64 + 1 + 10) width + 10 parameters")
        for trial in trials:
            self.assertEqual(trial["costs"]["share"], trial["costs"]["parameters"] / trial["parameters"]["width"])
        shown = self.skyline("show", "ours1", "--trial", "0").stdout
        self.assertIn("share: 75.83", shown)

    def test_a_search_of_costs_alone_needs_no_evaluator(self):
        told = self.skyline("validate", "networks.yaml").stdout
        self.assertIn("# computed: nothing is trained: all objectives are computed\n", told)
        for ranks in (0, 2, 3):
            self.skyline("search", "networks.yaml", "--run", f"costs{ranks}", ranks=ranks)
            self.assertEqual(self.canonical(f"costs{ranks}"), self.canonical("costs0"))
        self.kill_after(4, "search", "networks.yaml", "--run", "costs_killed", ranks=2)
        self.skyline("search", "networks.yaml", "--run", "costs_killed", "--resume")
        self.assertEqual(self.canonical("costs_killed"), self.canonical("costs0"))
        trials = read_json(self.folder / "costs0/models.json")["trials"]
        self.assertEqual(len(trials), 12)
        for trial in trials:
            self.assertLessEqual(trial["costs"]["flops"], 1e6)
        self.assertIn("parameters", self.skyline("status", "costs0").stdout)
        self.skyline("report", "costs0")

    def test_a_search_of_expressions_needs_no_evaluator_either(self):
        (self.folder / "alone.yaml").write_text("""
space: {parameters: {a: {range: [1, 20]}, b: {range: [1, 20]}}}
computed: {metrics: {area: {is: $a * $b}, edge: {is: "2 * ($a + $b)"}}}
objectives: [maximize: area, minimize: edge]
search: {algorithm: exhaustive}
""")
        self.skyline("search", "alone.yaml", "--run", "alone")
        front = read_json(self.folder / "alone/pareto.json")["search_front"]
        self.assertTrue(all(abs(each["parameters"]["a"] - each["parameters"]["b"]) <= 1 for each in front), "squares, or nearly")
        self.assertEqual(len(front), 58, "20 squares, and 19 rectangles in two ways")

    def test_a_measured_objective_still_needs_an_evaluator(self):
        refused = self.skyline("validate", "networks.yaml", "--set", "objectives=[maximize: score, minimize: flops]", expect=2)
        self.assertIn("missing the evaluator's section", refused.stderr)


if __name__ == "__main__":
    unittest.main()
