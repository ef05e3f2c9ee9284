"""Networks that are measured in int8: in full trainings, in trials, and by `evaluate` and `predict`."""

import csv
import io
import signal
import unittest

import h5py
import numpy

from skyline_runs import FAULTS, SOURCE, TIMEOUT_S, RunsCase, read_json, small_digits

SIGNALS = """
data: {file: signals.h5}
space:
  parameters: {width: {choice: [8, 12]}}
  network:
    - {conv1d: {channels: $width, kernel: 5}}
    - batch_norm
    - relu
    - {max_pool: {kernel: 2}}
    - {conv1d: {channels: 16, kernel: 5}}
    - batch_norm
    - relu
    - global_average_pool
    - flatten
    - {linear: {features: $classes}}
training: {epochs: 1, batch: 32}
final: {epochs: 6, int8: true}
objectives: [{maximize: validation_accuracy}, {minimize: parameters}]
search: {algorithm: random, trials: 2}
run: {seed: 4, events: false}
"""

NUMBERS = """
data: {file: numbers.h5}
space:
  parameters: {width: {choice: [8]}}
  network: [flatten, {linear: {features: $width}}, relu, {linear: {features: $classes}}]
training: {epochs: 2, batch: 16, int8: true, metrics: [r2, mse]}
objectives: [{maximize: validation_r2}, {minimize: parameters}]
search: {algorithm: random, trials: 1}
run: {seed: 4, events: false}
"""


def write_signals(path):
    """Waves of four kinds in three channels, whose units are far apart: g, degrees a second and Pa."""
    rng = numpy.random.default_rng(5)
    count, steps = 2400, 64
    kinds = rng.integers(0, 4, count)
    times = numpy.arange(steps)
    waves = numpy.sin(times * (0.15 + 0.1 * kinds[:, None]) + rng.uniform(0, 6.3, (count, 1)))
    channels = [0.02 * (waves + rng.normal(0, 1, (count, steps))),
                250 * (waves * (kinds[:, None] % 2) + rng.normal(0, 1, (count, steps))),
                101325 + 300 * (waves * (kinds[:, None] > 1) + rng.normal(0, 1, (count, steps)))]
    values = numpy.stack(channels, 1).astype("float32")
    numpy.savez(path, x_train=values[:1600], y_train=kinds[:1600], x_test=values[1600:], y_test=kinds[1600:])


class Int8(RunsCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.config = [*small_digits(cls.digits), "--set", "final.int8=true", "--set", "final.epochs=4"]
        cls.told = cls().skyline("search", *cls.config, "--run", "run").stdout
        cls.trials = read_json(cls.folder / "run/models.json")["trials"]
        cls.front = [trial for trial in cls.trials if trial.get("final", {}).get("on_front")]

    def test_a_search_that_is_killed_within_the_int8_metrics_resumes_to_the_same_journal(self):
        faults = FAULTS.with_name("int8_faults.so")
        if not faults.exists():
            self.skipTest("no preloaded library beside sanitizers")
        for rounding in (2, 30):
            run = f"killed{rounding}"
            job = self.start("search", *self.config, "--run", run,
                             environment={"LD_PRELOAD": str(faults), "SKYLINE_INT8_FAULT": str(rounding)})
            self.assertEqual(job.wait(TIMEOUT_S), -signal.SIGKILL)
            self.skyline("search", "--run", run, "--resume")
            self.assertEqual(self.canonical(run), self.canonical("run"))

    def refusal(self, *arguments):
        lines = self.skyline(*arguments, expect=2).stderr.splitlines()
        self.assertEqual(len(lines), 1, lines)
        return lines[0]

    def test_full_trainings_have_each_metric_in_int8_beside_the_float_one(self):
        self.assertTrue(self.front)
        for trial in self.front:
            for part in ("validation", "test"):
                self.assertAlmostEqual(trial["final"][f"int8_{part}_accuracy"], trial["final"][f"{part}_accuracy"], delta=0.03)
            self.assertNotIn("int8_validation_accuracy", trial["metrics"])
        self.assertIn("int8_test_accuracy", self.told)
        self.assertRegex(self.told, r"int8_test_accuracy of 355 samples: trial \d+ has 0\.\d+, 0\.\d+ to 0\.\d+ at 95 %")

    def test_the_journal_is_the_same_for_any_number_of_ranks(self):
        whole = self.canonical("run")
        for ranks in (2, 3):
            self.skyline("search", *self.config, "--run", f"ranks{ranks}", ranks=ranks)
            self.assertEqual(self.canonical(f"ranks{ranks}"), whole)

    def test_members_of_a_group_measure_one_int8_network(self):
        grouped = [*self.config, "--set", "training.group.members=2"]
        self.skyline("search", *grouped, "--run", "group", ranks=2)
        for trial in read_json(self.folder / "group/models.json")["trials"]:
            if "final" in trial:
                self.assertAlmostEqual(trial["final"]["int8_test_accuracy"], trial["final"]["test_accuracy"], delta=0.03)

    def test_nothing_of_int8_is_in_a_run_that_does_not_ask_for_it(self):
        self.skyline("search", *self.config, "--set", "final.int8=false", "--run", "float")
        self.assertNotIn("int8", self.canonical("float"))
        self.skyline("search", *self.config[:-4], "--set", "final.epochs=4", "--run", "plain")
        self.assertNotIn("int8", (self.folder / "plain/config.yaml").read_text())
        tested = [{trial["trial"]: trial["final"]["test_accuracy"] for trial in read_json(self.folder / run / "models.json")["trials"]
                   if "final" in trial} for run in ("run", "float", "plain")]
        self.assertTrue(tested[0])
        self.assertEqual(tested[1:], [tested[0]] * 2)

    def test_an_aim_in_int8_has_full_trainings_measured(self):
        aims = "[{maximize: validation_accuracy}, {minimize: flops}, {maximize: int8_validation_accuracy}]"
        self.skyline("search", *small_digits(self.digits), "--set", f"objectives={aims}", "--run", "aims")
        front = read_json(self.folder / "aims/pareto.json")["final_front"]
        self.assertTrue(all("int8_validation_accuracy" in str(member) for member in front))

    def test_an_evaluation_in_int8_repeats_the_test_of_the_full_training(self):
        trial = self.front[0]
        arguments = ("--trial", trial["trial"], "--data", self.digits, "--int8")
        self.skyline("evaluate", "run", *arguments, "-o", "measured.json")
        measured = read_json(self.folder / "measured.json")
        self.assertEqual(measured["metrics"], {"accuracy": trial["final"]["int8_test_accuracy"]})
        self.assertIs(measured["int8"], True)
        rows = list(csv.DictReader(io.StringIO(self.skyline("predict", "run", *arguments).stdout)))
        with h5py.File(self.digits) as file:
            labels = file["test/targets"][:]
        right = numpy.mean([int(row["class"]) == label for row, label in zip(rows, labels)])
        self.assertAlmostEqual(right, trial["final"]["int8_test_accuracy"], delta=1e-9)

    def test_the_data_set_of_the_run_is_needed_for_int8(self):
        moved = self.folder / "moved.h5"
        moved.write_bytes(self.digits.read_bytes())
        self.skyline("search", *small_digits(moved), "--run", "moved")
        moved.rename(self.folder / "away.h5")
        trial = next(t["trial"] for t in read_json(self.folder / "moved/models.json")["trials"] if t.get("final", {}).get("on_front"))
        arguments = ("evaluate", "moved", "--trial", trial, "--data", self.digits, "--int8")
        self.assertIn("name the data set of the run by --run-data", self.refusal(*arguments))
        self.assertIn("accuracy", self.skyline(*arguments, "--run-data", "away.h5").stdout)

    def test_signals_of_three_units_keep_their_accuracy(self):
        write_signals(self.folder / "signals.npz")
        self.skyline("prep", "arrays", "signals.npz", "--layout", "ncl", "-o", "signals.h5")
        (self.folder / "signals.yaml").write_text(SIGNALS)
        self.skyline("search", "signals.yaml", "--run", "signals")
        finals = [trial["final"] for trial in read_json(self.folder / "signals/models.json")["trials"] if "final" in trial]
        self.assertTrue(finals)
        for final in finals:
            self.assertGreater(final["test_accuracy"], 0.6)
            self.assertAlmostEqual(final["int8_test_accuracy"], final["test_accuracy"], delta=0.005)

    def test_trials_that_learn_numbers_are_measured_if_they_are_to_be(self):
        rng = numpy.random.default_rng(3)
        inputs = rng.normal(size=(400, 5)).astype("float32")
        outputs = (inputs @ rng.normal(size=(5, 2))).astype("float32")
        numpy.savez(self.folder / "numbers.npz", x_train=inputs[:300], y_train=outputs[:300], x_test=inputs[300:], y_test=outputs[300:])
        self.skyline("prep", "arrays", "numbers.npz", "-o", "numbers.h5")
        (self.folder / "numbers.yaml").write_text(NUMBERS)
        self.skyline("search", "numbers.yaml", "--run", "numbers")
        trial, = read_json(self.folder / "numbers/models.json")["trials"]
        self.assertAlmostEqual(trial["metrics"]["int8_validation_r2"], trial["metrics"]["validation_r2"], delta=0.01)
        self.assertIn("int8_validation_mse", trial["metrics"])
        self.assertNotIn("int8_test_r2", trial["metrics"])

    def test_mistakes_are_told_in_one_line(self):
        self.assertIn("training.int8: expected true, false or final, got always",
                      self.refusal("search", *self.config, "--set", "training.int8=always", "--run", "wrong"))
        command = ("search", SOURCE / "configs/command.yaml", "--set", "final={epochs: 1, int8: true}", "--run", "wrong")
        self.assertIn("final.int8: needs the evaluator `training`, got `command`", self.refusal(*command))


if __name__ == "__main__":
    unittest.main()
