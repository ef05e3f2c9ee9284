"""Runs of several seeds and algorithms: one reference point, volumes that never fall, statistics that are right."""

import csv
import io
import math
import unittest

import yaml
from skyline_runs import SOURCE, RunsCase, read_json

SEEDS = range(1, 21)
ALGORITHMS = {"evolution": ["--set", "search.iterations=4", "--set", "search.initial=6", "--set", "search.max_unseen=6"],
              "random": ["--set", "search={algorithm: random, trials: 24}"]}
CONFIG = [SOURCE / "configs/synthetic.yaml", "--set", "synthetic.seconds_per_gflop=0", "--set", "run.events=false"]


def normal_p(left, right):
    """Two-sided Mann-Whitney U with corrections for ties and continuity, from the textbook."""
    u = sum((a > b) + (a == b) / 2 for a in left for b in right)
    m, n = len(left), len(right)
    values = left + right
    tied = sum(values.count(value) ** 3 - values.count(value) for value in set(values))
    deviation = math.sqrt(m * n / 12 * (m + n + 1 - tied / ((m + n) * (m + n - 1))))
    return min(1, math.erfc((max(u, m * n - u) - m * n / 2 - 0.5) / deviation / math.sqrt(2)))


class Compare(RunsCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.runs = {name: [f"{name}{seed}" for seed in SEEDS] for name in ALGORITHMS}
        for name, settings in ALGORITHMS.items():
            for seed in SEEDS:
                cls().skyline("search", *CONFIG, *settings, "--set", f"run.seed={seed}", "--run", f"{name}{seed}")
        cls.all = [run for runs in cls.runs.values() for run in runs]

    def rows(self, *arguments):
        return list(csv.DictReader(io.StringIO(self.skyline("compare", *arguments).stdout)))

    def test_seeds_and_algorithms_of_one_configuration_have_one_reference(self):
        references = {str(yaml.safe_load((self.folder / run / "config.yaml").read_text())["objectives"]) for run in self.all}
        self.assertEqual(len(references), 1)
        self.assertIn("'reference': 1", references.pop())

    def test_the_volume_of_no_run_ever_falls_and_ends_as_that_of_its_results(self):
        curves = {}
        for row in self.rows(*self.all, "--curves"):
            curves.setdefault(row["run"], []).append(float(row["hypervolume"]))
        self.assertEqual(set(curves), set(self.all))
        for run, curve in curves.items():
            self.assertEqual(curve, sorted(curve), run)
            self.assertAlmostEqual(curve[-1], read_json(self.folder / run / "pareto.json")["hypervolume"]["search"], 12)

    def test_means_and_the_test_are_those_of_the_runs(self):
        curves = {}
        for row in self.rows(*self.all, "--curves"):
            curves.setdefault(row["run"], []).append(float(row["hypervolume"]))
        trials = min(len(curve) for curve in curves.values())
        left, right = ([curves[run][trials - 1] for run in runs] for runs in self.runs.values())
        rows = [row for row in self.rows(*self.all, "--csv") if row["quantity"] == "hypervolume"]
        self.assertEqual([row["group"] for row in rows[:2]],
                         ["search.algorithm=evolution_pareto", "search.algorithm=random"])
        for row, sample in zip(rows, (left, right)):
            mean = sum(sample) / len(sample)
            deviation = math.sqrt(sum((value - mean) ** 2 for value in sample) / (len(sample) - 1))
            self.assertAlmostEqual(float(row["mean"]), mean, 12)
            self.assertAlmostEqual(float(row["high"]) - mean, 2.0930240544083087 * deviation / math.sqrt(len(sample)), 12)
        self.assertAlmostEqual(float(rows[2]["p"]), normal_p(left, right), 12)
        text = self.skyline("compare", *self.all).stdout
        self.assertIn(f"40 runs in 2 groups, compared after the first {trials} trials of each search", text)
        self.assertIn("Mann-Whitney U", text)

    def test_runs_that_do_not_compare_are_refused_in_one_line(self):
        self.skyline("search", *CONFIG, *ALGORITHMS["random"], "--set", "constraints=[{flops: [0, 1.0e8]}]", "--run", "other")
        done = self.skyline("compare", "random1", "other", expect=2)
        self.assertRegex(done.stderr, r"^skyline: other measures `flops` from 100000000 to ([\d.]+) \(log\), random1 from \d+ to \1 \(log\): expected")
        self.assertEqual(done.stderr.count("\n"), 1)
        self.assertIn("is the same run as", self.skyline("compare", "random1", "random1", expect=2).stderr)
        self.assertIn("not a run folder", self.skyline("compare", "random1", ".", expect=2).stderr)


if __name__ == "__main__":
    unittest.main()
