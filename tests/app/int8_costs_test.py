"""Costs in int8 as objectives, constraints and parts of expressions, and in what a run leaves."""

import csv
import unittest

from skyline_runs import RunsCase, read_json

COSTS = ("int8_peak_activation_bytes", "int8_weight_bytes")
PLAIN = """
data: {shape: [1, 8, 8], classes: 10}
synthetic: {}
space:
  parameters: {width: {choice: [4, 6, 8, 12, 16]}, kernel: {choice: [1, 3, 5]}, deep: {choice: [1, 2, 3]}}
  network:
    - repeat: $deep
      body: [{conv2d: {channels: $width, kernel: $kernel}}, batch_norm, relu]
    - global_average_pool
    - linear: {features: $classes}
objectives: [maximize: validation_accuracy, minimize: macs]
search: {trials: 12}
"""
ASKS = PLAIN + "constraints: [{int8_peak_activation_bytes: [0, 1Ki]}, {int8_weight_bytes: [0, 4k]}]\n"


def costs_of(parameters):
    """The numbers by hand: fused layers, a byte per value, and 12 bytes per output channel."""
    width, kernel, deep = (parameters[name] for name in ("width", "kernel", "deep"))
    inner = (deep - 1) * (width * width * kernel ** 2 + 12 * width)
    peak = (2 * width if deep > 1 else width + 1) * 64
    return {COSTS[0]: peak, COSTS[1]: width * kernel ** 2 + 12 * width + inner + 10 * width + 12 * 10}


class Int8Costs(RunsCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        (cls.folder / "plain.yaml").write_text(PLAIN)
        (cls.folder / "asks.yaml").write_text(ASKS)
        cls().skyline("search", "asks.yaml", "--run", "run")

    def test_a_search_proposes_what_fits_alone_and_its_results_have_the_costs(self):
        trials = read_json(self.folder / "run/models.json")["trials"]
        self.assertEqual(len(trials), 12)
        for trial in trials:
            expected = costs_of(trial["parameters"])
            self.assertEqual({name: trial["costs"][name] for name in COSTS}, expected)
            self.assertLessEqual(expected[COSTS[0]], 1024)
            self.assertLessEqual(expected[COSTS[1]], 4000)
        with (self.folder / "run/search_state.csv").open() as file:
            for row in csv.DictReader(file):
                expected = costs_of({name: int(row[name]) for name in ("width", "kernel", "deep")})
                self.assertEqual({name: int(row[name]) for name in COSTS}, expected)
        self.assertIn("int8_weight_bytes", (self.folder / "run/report.html").read_text())

    def test_the_journal_is_the_same_on_any_ranks_and_after_a_kill(self):
        self.skyline("search", "asks.yaml", "--run", "ranks", ranks=3)
        self.assertEqual(self.canonical("ranks"), self.canonical("run"))
        self.kill_after(5, "search", "asks.yaml", "--run", "killed", ranks=2)
        self.skyline("search", "asks.yaml", "--run", "killed", "--resume", ranks=3)
        self.assertEqual(self.canonical("killed"), self.canonical("run"))

    def test_a_search_that_asks_for_none_has_none(self):
        self.skyline("search", "plain.yaml", "--run", "plain")
        for name in ("search_state.csv", "models.json", "pareto.json", "journal.jsonl"):
            self.assertNotIn("int8", (self.folder / "plain" / name).read_text(), name)

    def test_an_objective_and_an_expression_may_name_them(self):
        untrained = PLAIN.replace("synthetic: {}", "computed: {metrics: {flash: {is: $int8_weight_bytes / 1024, unit: KiB}}}")
        (self.folder / "untrained.yaml").write_text(untrained)
        self.skyline("search", "untrained.yaml", "--run", "given", "--set", "objectives=[maximize: macs, minimize: flash]")
        for trial in read_json(self.folder / "given/models.json")["trials"]:
            self.assertEqual(trial["costs"]["flash"], costs_of(trial["parameters"])[COSTS[1]] / 1024)
        self.skyline("search", "untrained.yaml", "--run", "aims", "--set", "objectives=[maximize: macs, minimize: int8_peak_activation_bytes]")
        for trial in read_json(self.folder / "aims/models.json")["trials"]:
            self.assertEqual(trial["costs"][COSTS[0]], costs_of(trial["parameters"])[COSTS[0]])

    def test_show_and_validate_tell_them(self):
        shown = self.skyline("show", "plain.yaml", "--genotype", "width=4,kernel=3,deep=1").stdout
        self.assertIn("in int8: peak activation bytes 320, weight bytes 244\n", shown)
        network = "space.network=[{conv2d: {channels: $width, kernel: $kernel}}, {repeat: $deep, body: [gelu]}, " \
                  "global_average_pool, {linear: {features: $classes}}]"
        shown = self.skyline("show", "plain.yaml", "--set", network, "--genotype", "width=4,kernel=3,deep=2").stdout
        self.assertIn("; in float32: gelu_0, gelu_1\n", shown)
        told = self.skyline("validate", "asks.yaml").stdout
        self.assertIn("int8_peak_activation_bytes 320 to ", told)
        self.assertRegex(told, r"break the constraint `int8_weight_bytes: \[0, 4000\]`")

    def test_a_space_without_a_network_and_a_bound_that_nothing_meets_are_refused(self):
        refused = self.skyline("search", "asks.yaml", "--run", "none", "--set", "constraints=[int8_weight_bytes: [0, 7]]", expect=2)
        self.assertIn("no valid architecture", refused.stderr)
        (self.folder / "alone.yaml").write_text("space: {parameters: {a: {choice: [1, 2]}}}\nsearch: {trials: 2}\n"
                                                "command: {run: [echo], metrics: {score: {better: higher}}}\n"
                                                "objectives: [maximize: score, minimize: int8_weight_bytes]\n")
        refused = self.skyline("search", "alone.yaml", "--run", "none", expect=2)
        self.assertRegex(refused.stderr, "^skyline: alone.yaml:4:[0-9]+: objectives.1..minimize: `int8_weight_bytes` is computed from a "
                                         "network, and this space has none")
        self.assertFalse((self.folder / "none").exists())


if __name__ == "__main__":
    unittest.main()
