"""The members of the final front are trained once more, on training and validation samples: the same for any number of ranks,
after kills and at a later resume; their weights are the model, and what was compared stays."""

import json
import shutil
import unittest

import h5py
import numpy
import onnxruntime

from repeats_test import tensors_of
from skyline_runs import SOURCE, RunsCase, read_json, small_digits

ONE_NETWORK = """
data: {file: %s, normalization: unit}
space:
  parameters: {width: {choice: [6]}}
  network: [flatten, {linear: {features: $width}}, relu, {linear: {features: $classes}}]
training: {epochs: 1, batch: 16%s}
final: {epochs: %s%s}
objectives: [{maximize: validation_accuracy}, {minimize: parameters}]
search: {algorithm: random, trials: 1}
run: {seed: 3, events: false}
"""


class Refit(RunsCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.config = [*small_digits(cls.digits), "--set", "final.refit=true"]
        cls.told = cls().skyline("search", *cls.config, "--run", "whole").stdout
        cls.front = read_json(cls.folder / "whole/pareto.json")["final_front"]

    def lines(self, run):
        return [json.loads(line) for line in self.canonical(run).splitlines()[1:]]

    def test_the_journal_is_the_same_for_any_number_of_ranks_and_begins_as_that_of_a_run_without_a_refit(self):
        whole = self.canonical("whole")
        for ranks in (2, 3):
            self.skyline("search", *self.config, "--run", f"ranks{ranks}", ranks=ranks)
            self.assertEqual(self.canonical(f"ranks{ranks}"), whole)
            for member in self.front:
                name = f"weights/{member['trial']}.refit.h5"
                self.assertEqual(tensors_of(self.folder / f"ranks{ranks}" / name), tensors_of(self.folder / "whole" / name))
        self.skyline("search", *self.config, "--set", "final.refit=false", "--run", "without")
        self.assertTrue(whole.startswith(self.canonical("without")))
        refits = [line for line in self.lines("whole") if line.get("refit")]
        self.assertEqual({line["k"] for line in refits}, {member["trial"] for member in self.front})
        for key in ("final_front", "search_front", "hypervolume"):
            with_refit, without = (read_json(self.folder / run / "pareto.json")[key] for run in ("whole", "without"))
            for member in with_refit if key != "hypervolume" else []:
                member.pop("refit", None)
            self.assertEqual(with_refit, without)

        self.skyline("search", *self.config, "--run", "without", "--resume")
        self.assertEqual(self.canonical("without"), whole, "it was given the refit at a resume")

    def test_runs_killed_among_refits_go_on_with_another_number_of_ranks(self):
        whole = self.canonical("whole")
        before = sum(1 for line in self.lines("whole") if not line.get("refit"))
        self.assertGreater(len(self.front), 1)
        for number, (first, second) in enumerate(((2, 1), (1, 3), (3, 2))):
            run = f"killed{number}"
            if number == 0:
                self.kill_after(before, "search", *self.config, "--run", run, ranks=first)
                self.assertLessEqual(len(self.lines(run)), before)
            else:
                self.kill_after(before + 1, "search", *self.config, "--run", run, ranks=first, at="fsync")
                self.assertGreater(len(self.lines(run)), before)
            self.skyline("search", *self.config, "--run", run, "--resume", ranks=second)
            self.assertEqual(self.canonical(run), whole)
            self.assertEqual(sorted(path.name for path in (self.folder / run / "weights").iterdir()),
                             sorted(path.name for path in (self.folder / "whole/weights").iterdir()))

    def test_the_refit_is_the_model_and_stands_beside_what_was_compared(self):
        self.assertRegex(self.told, r"Refit: all of the final front were trained once more, on training and validation samples; ")
        self.assertRegex(self.told, r"test_accuracy +test_accuracy")
        with h5py.File(self.digits) as file:
            images, labels = file["test/values"][:].astype(numpy.float32), file["test/targets"][:]
        for member in self.front:
            number, refit = member["trial"], member["refit"]
            self.assertEqual(refit["weights"], f"weights/{number}.refit.h5")
            self.assertIsNone(refit["validation_accuracy"])
            self.assertGreater(refit["steps"], member["metrics"]["steps"])
            self.assertEqual(refit["seed"], member["seed"])
            for words, expected, weights in (([], refit["test_accuracy"], "refit"),
                                             (["--weights", "final"], member["metrics"]["test_accuracy"], "final")):
                self.skyline("export", "whole", "--trial", number, *words, "-o", weights)
                session = onnxruntime.InferenceSession(self.folder / weights / f"{number}.onnx", providers=["CPUExecutionProvider"])
                metadata = session.get_modelmeta().custom_metadata_map
                self.assertEqual((metadata["weights"], float(metadata["test_accuracy"])), (weights, expected))
                self.assertEqual(float(metadata["objective.validation_accuracy"]), member["objectives"]["validation_accuracy"])
                self.assertAlmostEqual((session.run(None, {"input": images})[0].argmax(1) == labels).mean(), expected, 9)
        page = self.folder / "page.html"
        self.skyline("report", "whole", "--out", page)
        self.assertIn(f'"refits":{{"{self.front[0]["trial"]}"', page.read_text())
        refused = self.skyline("export", "whole", "--trial", self.loser(), "--weights", "refit", expect=2).stderr
        self.assertIn("has no refit (`final.refit`)", refused)

    def loser(self):
        members = {member["trial"] for member in self.front}
        return next(line["k"] for line in self.lines("whole") if line["k"] not in members)

    def parts(self, name, **parts):
        """A data set without a seal, with stored parts."""
        with h5py.File(self.digits) as digits, h5py.File(self.folder / name, "w") as file:
            values, targets = digits["train/values"][:400], digits["train/targets"][:400]
            file.attrs["format"], file.attrs["version"], file.attrs["value_scale"] = "skyline-dataset", 2, 16.0
            file["class_names"] = [str(label) for label in range(10)]
            for part, rows in parts.items():
                file[f"{part}/values"], file[f"{part}/targets"] = values[rows], targets[rows].astype("int32")

    def searched(self, run, data, training="", epochs=3, refit=", refit: true", ranks=0):
        (self.folder / f"{run}.yaml").write_text(ONE_NETWORK % (data, training, epochs, refit))
        self.skyline("search", f"{run}.yaml", "--run", run, "--quiet", ranks=ranks)
        return read_json(self.folder / run / "pareto.json")["final_front"][0]

    def test_a_refit_is_to_the_bit_the_full_training_on_all_samples(self):
        self.parts("stored.h5", train=slice(0, 300), validation=slice(300, 360), test=slice(360, 400))
        self.parts("all.h5", train=slice(0, 360), validation=slice(300, 360), test=slice(360, 400))
        member = self.searched("stored", "stored.h5", ranks=2)
        oracle = self.searched("all", "all.h5", refit="")
        self.assertEqual(member["refit"]["steps"], oracle["metrics"]["steps"])
        self.assertEqual(tensors_of(self.folder / "stored/weights/0.refit.h5"), tensors_of(self.folder / "all/weights/0.final.h5"))
        self.assertEqual(member["refit"]["test_accuracy"], oracle["metrics"]["test_accuracy"])

    def test_a_refit_has_the_epochs_that_were_best(self):
        self.parts("judged.h5", train=slice(0, 300), test=slice(360, 400))
        member = self.searched("judged", "judged.h5", ", full: {keep: best, patience: 2}, optimizer: {adam: {learning_rate: 0.05}}", 30)
        kept = member["metrics"]["kept_epochs"]
        self.assertEqual((kept, member["refit"]["epochs"], member["refit"]["horizon"]), (int(kept), kept, 30))
        self.assertEqual(member["metrics"]["steps"], (kept + 2) * -(-270 // 16), "it has ended by its patience")
        self.assertEqual(member["refit"]["steps"], kept * -(-300 // 16))
        shutil.copytree(self.folder / "judged", self.folder / "later")
        self.skyline("search", "judged.yaml", "--set", "final.epochs=20", "--run", "later", "--resume", "--quiet")
        again = read_json(self.folder / "later/pareto.json")["final_front"][0]
        self.assertEqual(again["refit"]["horizon"], 20)

    def test_it_needs_networks_that_are_trained_here(self):
        refused = self.skyline("validate", SOURCE / "configs/synthetic.yaml", "--set", "final.epochs=2",
                               "--set", "final.refit=true", expect=2).stderr
        self.assertIn("final.refit: needs the evaluator `training`, got `synthetic`", refused)


if __name__ == "__main__":
    unittest.main()
