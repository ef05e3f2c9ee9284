"""Numbers that are learned as logarithms come back in their own unit: in predictions, metrics, answers and exported networks."""

import csv
import io
import json
import math
import sys
import unittest

import h5py
import numpy
import onnxruntime

from skyline_runs import SOURCE, RunsCase, read_json
from targets_test import CONFIG

sys.path.insert(0, str(SOURCE / "python"))


class LogTargets(RunsCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        random = numpy.random.default_rng(1)
        cls.x = random.normal(size=(300, 4))
        cls.prices = numpy.exp(3 + 1.2 * cls.x[:, 0] - 0.7 * cls.x[:, 1])
        cls.write("train", slice(0, 240))
        cls.write("new", slice(240, 300))
        cls.scales = {}
        for transform in ("log", "log1p"):
            cls().skyline("prep", "arrays", "train.csv", "--label=price", "--test=0.25", f"--targets={transform}", "-o", f"{transform}.h5")
            with h5py.File(cls.folder / f"{transform}.h5") as file:
                scale, = json.loads(file["preparation"][0])["targets"]
            cls.scales[transform] = scale["mean"], scale["deviation"]
            (cls.folder / f"{transform}.yaml").write_text(CONFIG % (transform, "minimize: validation_mse"))
            cls().skyline("search", f"{transform}.yaml", "--run", transform, "--quiet")
        cls.front = {name: read_json(cls.folder / name / "pareto.json")["final_front"] for name in ("log", "log1p")}

    @classmethod
    def write(cls, name, rows):
        lines = [",".join(f"{value:.9g}" for value in (*row, price)) for row, price in zip(cls.x[rows], cls.prices[rows])]
        (cls.folder / f"{name}.csv").write_text("a,b,c,d,price\n" + "\n".join(lines) + "\n")

    def predicted(self, run, trial, *words):
        text = self.skyline("predict", run, "--trial", trial, "--data", "new.csv", *words).stdout
        return numpy.array([float(row["price"]) for row in csv.DictReader(io.StringIO(text))])

    def test_predictions_have_the_unit_of_the_table_and_are_near_the_truth(self):
        for run, front in self.front.items():
            found = self.predicted(run, front[0]["trial"])
            self.assertGreater(found.min(), -1)
            error = numpy.log(numpy.maximum(found, 1e-3) / self.prices[240:])
            self.assertLess(numpy.sqrt((error ** 2).mean()), 0.6)

    def test_metrics_are_in_the_unit_and_the_validation_error_is_that_of_training(self):
        for run, front in self.front.items():
            trial = front[0]["trial"]
            mean, deviation = self.scales[run]
            function = numpy.log if run == "log" else numpy.log1p
            self.skyline("evaluate", run, "--trial", trial, "--data", f"{run}.h5", "--part", "test", "-o",
                         f"{run}.json", "--force")
            measured = read_json(self.folder / f"{run}.json")["metrics"]
            for name in ("mse", "r2", "rmse"):
                self.assertAlmostEqual(measured[name], front[0]["metrics"][f"test_{name}"], 9)
            text = self.skyline("predict", run, "--trial", trial, "--data", f"{run}.h5", "--part", "test").stdout
            found = numpy.array([float(row["price"]) for row in csv.DictReader(io.StringIO(text))])
            truth = self.truth_of(run)
            self.assertAlmostEqual(measured["rmse"] / math.sqrt(((found - truth) ** 2).mean()), 1, 3)
            self.assertAlmostEqual(measured["r2"], 1 - ((found - truth) ** 2).sum() / ((truth - truth.mean()) ** 2).sum(), 3)
            scaled = (function(found) - function(truth)) / deviation
            self.assertAlmostEqual(measured["mse"] / (scaled ** 2).mean(), 1, 3)

    def test_an_exported_network_has_the_metrics_of_its_run(self):
        for run, front in self.front.items():
            trial = front[0]["trial"]
            self.skyline("export", run, "--trial", trial, "-o", f"{run}-onnx")
            self.skyline("evaluate", run, "--trial", trial, "--data", "new.csv", "-o", f"{run}.new.json")
            self.skyline("evaluate", f"{run}-onnx/{trial}.onnx", "--data", "new.csv", "-o", f"{run}.onnx.json",
                         environment={"SKYLINE_PYTHON": sys.executable})
            of_run, of_file = (read_json(self.folder / f"{run}.{name}.json")["metrics"] for name in ("new", "onnx"))
            self.assertEqual(list(of_file), list(of_run))
            for name, value in of_run.items():
                self.assertAlmostEqual(of_file[name] / value, 1, 4)

    def truth_of(self, run):
        mean, deviation = self.scales[run]
        with h5py.File(self.folder / f"{run}.h5") as file:
            stored = file["test/targets"][:, 0].astype("float64") * deviation + mean
        return numpy.exp(stored) if run == "log" else numpy.expm1(stored)

    def test_a_set_that_was_scaled_otherwise_is_brought_to_the_scale_of_the_run(self):
        trial = self.front["log"][0]["trial"]
        found = [self.skyline("evaluate", "log", "--trial", trial, "--data", f"{name}.h5", "--part", "test").stdout
                 for name in ("log", "log1p")]
        values = [[float(line.split()[1]) for line in text.splitlines()[:3]] for text in found]
        for own, other in zip(*values):
            self.assertAlmostEqual(own / other, 1, delta=2e-3)

    def test_numbers_without_a_logarithm_are_refused(self):
        lines = (self.folder / "new.csv").read_text().splitlines()
        lines[7] = lines[7].rsplit(",", 1)[0] + ",0"
        (self.folder / "zero.csv").write_text("\n".join(lines) + "\n")
        self.skyline("prep", "arrays", "zero.csv", "--label", "price", "--test", "0", "-o", "zero.h5")
        refused = self.skyline("evaluate", "log", "--trial", self.front["log"][0]["trial"], "--data", "zero.h5", expect=2).stderr
        self.assertRegex(refused, r"zero\.h5: the target of sample 6 is \S+, which has no logarithm, and the run has learned those of its "
                         r"targets \(log\)\n")
        self.skyline("evaluate", "log1p", "--trial", self.front["log1p"][0]["trial"], "--data", "zero.h5")

    def test_exported_networks_give_numbers_in_the_unit(self):
        from skyline import load_model
        import torch
        for run, front in self.front.items():
            trial = front[0]["trial"]
            expected = self.predicted(run, trial)
            samples = self.x[240:].astype("float32").reshape(-1, 4, 1, 1)
            self.skyline("export", run, "--trial", trial, "-o", f"{run}-models")
            session = onnxruntime.InferenceSession(self.folder / f"{run}-models/{trial}.onnx", providers=["CPUExecutionProvider"])
            got = session.run(None, {"input": samples})[0][:, 0]
            numpy.testing.assert_allclose(got, expected, rtol=1e-4)
            self.assertEqual(json.loads(session.get_modelmeta().custom_metadata_map["preparation"])["targets"][0]["transform"], run)
            network = load_model(self.folder / run, trial, program=self.command("export")[0])
            with torch.no_grad():
                numpy.testing.assert_allclose(network(torch.from_numpy(samples)).numpy()[:, 0], expected, rtol=1e-4)

    def test_the_samples_bound_the_errors_and_their_differences(self):
        member = self.front["log"][0]
        value, (low, high) = member["metrics"]["test_r2"], member["intervals"]["test_r2"]
        self.assertTrue(low < value < high, (low, value, high))
        answers = read_json(self.folder / f"log/weights/{member['trial']}.final.answers.json")
        points = numpy.array(answers["points"])
        numpy.testing.assert_allclose(sorted(points[:, 1]), sorted(self.truth_of("log")), rtol=1e-4)
        self.assertEqual({name: len(values) for name, values in answers["replicates"].items()},
                         {"test_mse": 1000, "test_r2": 1000, "test_rmse": 1000})
        told = self.skyline("status", "log").stdout
        self.assertRegex(told, r"test_r2 of 60 samples: trial \d has \S+, \S+ to \S+ at 95 %")
        self.assertRegex(told, r"\n *trial .* test_mse .*test_r2.*test_rmse")


if __name__ == "__main__":
    unittest.main()
