"""Runs as DataFrames, plots and modules of torch, and in a process that has torch loaded."""

import json
import math
import os
import pathlib
import shutil
import subprocess
import unittest

from package_case import PROGRAM, SETTINGS, SOURCE, SPACE, PackageCase

import functions
import skyline

try:
    import h5py
    import matplotlib
    import pandas
    import torch
    from matplotlib import pyplot
except ImportError as problem:
    raise SystemExit(f"{problem}: install it with SKYLINE_EXPORT_TESTS=1 scripts/setup")

NETWORK = {"parameters": {"width": [4, 8]},
           "network": [{"conv2d": {"channels": "$width", "kernel": 3}}, "relu", "global_average_pool", {"linear": {"features": "$classes"}}]}


class Objects(PackageCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        shutil.copy(SOURCE / "data/digits.h5", "digits.h5")
        cls.run_ = skyline.search(NETWORK, maximize="validation_accuracy", minimize="flops", folder="runs/digits", quiet=True,
                                  search={"algorithm": "exhaustive"}, data={"file": "digits.h5"}, training={"epochs": 0.5},
                                  final={"epochs": 1}).wait()
        cls.plain = skyline.search(SPACE, functions.product, trials=9, folder="runs/plain", **SETTINGS).wait()

    def test_trials_are_a_frame_with_a_column_for_each_parameter_metric_and_cost(self):
        trials = self.run_.trials
        self.assertEqual(list(trials.columns[:5]), ["trial", "phase", "status", "reason", "width"])
        search = trials[trials["phase"] == "search"]
        self.assertEqual(len(search), 2)
        self.assertEqual(sorted(search["width"]), [4, 8])
        self.assertTrue((search["flops"] > 0).all() and search["validation_accuracy"].between(0, 1).all())
        csv = pandas.read_csv("runs/digits/search_state.csv")
        self.assertEqual(sorted(csv["flops"]), sorted(search["flops"]))
        self.assertEqual(sorted(csv["seed"]), sorted(search["seed"]))

    def test_the_front_is_the_rows_of_pareto_json_in_its_order(self):
        pareto = json.loads(pathlib.Path("runs/digits/pareto.json").read_text())
        front = self.run_.front
        self.assertEqual(set(front["phase"]), {"final"})
        self.assertEqual(list(front["trial"]), [trial["trial"] for trial in pareto["final_front"]])
        self.assertTrue(front["test_accuracy"].notna().all())
        self.assertEqual(len(self.plain.front), len(self.plain.front_rows))

    def test_the_front_and_the_volume_are_drawn(self):
        ax = self.plain.plot_front()
        self.assertEqual((ax.get_xlabel(), ax.get_ylabel()), ("size", "score"))
        members, steps = ax.get_lines()
        self.assertEqual(sorted(members.get_ydata()), sorted(self.plain.front["score"]))
        corners = list(zip(steps.get_xdata(), steps.get_ydata()))
        self.assertEqual(corners[::2], sorted(zip(self.plain.front["size"], self.plain.front["score"])))
        for (x, y), (next_x, next_y) in zip(corners[::2], corners[2::2]):  # each corner is worse than both of its neighbours
            self.assertIn((next_x, y), corners)
            self.assertTrue(x < next_x and y < next_y)
        own = pyplot.subplots()[1]
        self.assertIs(self.run_.plot_front("flops", "test_accuracy", own), own)
        self.assertEqual(own.get_xscale(), "log")
        volumes = self.plain.plot_volume().get_lines()[0].get_ydata()
        self.assertEqual(len(volumes), 9)
        self.assertTrue(all(first <= second for first, second in zip(volumes, volumes[1:])))
        self.assertEqual(matplotlib.get_backend().lower(), "agg")
        with self.assertRaisesRegex(skyline.Error, "no trial has both `size` and `beauty`"):
            self.plain.plot_front(y="beauty", x="size")

    def test_a_run_without_ends_to_measure_from_has_a_volume_between_the_values_seen_which_says_so(self):
        run = skyline.search({"depth": [1, 3, 2]}, functions.one_number, maximize="score", folder="runs/open", quiet=True,
                             search={"algorithm": "exhaustive"}).wait()
        ax = run.plot_volume()
        self.assertEqual((list(ax.get_lines()[0].get_ydata()), ax.get_ylabel()),
                         ([0, 1, 1], "hypervolume of the search\nbetween the values seen of score"))
        self.assertEqual(self.plain.plot_volume().get_ylabel(), "hypervolume of the search")
        front = run.plot_front()
        self.assertEqual((front.get_xlabel(), len(front.get_lines())), ("trial", 1))

    def test_a_run_of_one_value_has_no_volume(self):
        run = skyline.search({"depth": [1]}, functions.one_number, maximize="score", folder="runs/one", quiet=True, trials=1).wait()
        with self.assertRaisesRegex(skyline.Error, "has no hypervolume: give its metrics a range"):
            run.plot_volume()

    def test_a_model_has_the_accuracy_that_was_measured(self):
        with h5py.File("digits.h5") as file:
            images = torch.from_numpy(file["test/values"][:]).float()
            labels = torch.from_numpy(file["test/targets"][:].astype("int64"))
        for row in self.run_.front_rows:
            network = skyline.load_model("runs/digits", row["trial"])
            self.assertIsInstance(network, torch.nn.Module)
            self.assertFalse(network.training)
            accuracy = (network(images).argmax(1) == labels).double().mean().item()
            self.assertTrue(math.isclose(accuracy, row["test_accuracy"], abs_tol=1e-9), (accuracy, row))
            of_search = skyline.load_model("runs/digits", row["trial"], weights="search")
            self.assertFalse(torch.equal(network(images), of_search(images)))
        self.assertEqual([path for path in pathlib.Path("runs/digits").iterdir() if path.name == "exports"], [])
        with self.assertRaises(skyline.Error) as refused:
            skyline.load_model("runs/digits", 99)
        self.assertEqual(refused.exception.exit_code, 2)
        self.assertIn("99", str(refused.exception))

    def test_a_model_that_was_exported_is_loaded_without_the_program(self):
        number = self.run_.front_rows[0]["trial"]
        subprocess.run([PROGRAM, "export", "runs/digits", "--trial", str(number), "--format", "pytorch", "-o", "runs/digits/exports"], check=True,
                       capture_output=True)
        self.addCleanup(lambda: [path.unlink() for path in pathlib.Path("runs/digits/exports").iterdir()] and os.rmdir("runs/digits/exports"))
        with self.assertRaises(skyline.Error):
            skyline.load_model("runs/digits", 99, program="/nowhere")
        with self.assertRaises(skyline.Error) as refused:
            skyline.load_model("runs/digits", number, program="/nowhere")
        self.assertEqual(str(refused.exception), f"program: /nowhere is no program that can be started; without it runs/digits/exports/trial_{number}.py "
                                                 "would be run, which may do anything: trust_code=True allows it")
        network = skyline.load_model("runs/digits", number, program="/nowhere", trust_code=True)
        expected = skyline.load_model("runs/digits", number)
        images = torch.zeros(1, 1, 8, 8)
        self.assertTrue(torch.equal(network(images), expected(images)))


if __name__ == "__main__":
    unittest.main()
