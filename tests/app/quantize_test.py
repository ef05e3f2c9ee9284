"""Exported models with half precision, by the recipe of docs/models.md, and the samples for tools of others."""

import os
import re
import shutil
import unittest

import h5py
import numpy
import onnxruntime

from skyline_runs import SOURCE, RunsCase, read_json, small_digits

TABLE = """
data: {file: houses.h5}
space:
  parameters: {width: {choice: [4, 8]}}
  network: [flatten, {linear: {features: $width}}, relu, {linear: {features: $classes}}]
training: {epochs: 2, batch: 16}
objectives: [{minimize: validation_mse}, {minimize: parameters}]
search: {algorithm: random, trials: 2}
"""


def recipe(name):
    """The lines of Python that the page has for a format."""
    page = (SOURCE / "docs/models.md").read_text()
    return next(code for code in re.findall(r"```python\n(.*?)```", page, re.S) if f"17.{name}.onnx" in code)


class Quantize(RunsCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls().skyline("search", *small_digits(cls.digits), "--set", "final.epochs=8", "--run", "run")
        with h5py.File(cls.digits) as file:
            cls.train, cls.train_labels = file["train/values"][:].astype(numpy.float32), file["train/targets"][:]
            cls.images, cls.labels = file["test/values"][:].astype(numpy.float32), file["test/targets"][:]

    def best(self):
        front = [trial for trial in read_json(self.folder / "run/models.json")["trials"]
                 if trial["phase"] == "search" and trial.get("final", {}).get("on_front")]
        return max(front, key=lambda trial: trial["final"]["test_accuracy"])["trial"]

    def export(self, run, trial, folder):
        """Writes the model under the name that the page has, 17.onnx, and its samples."""
        done = self.skyline("export", run, "--trial", trial, "--calibration", 300, "-o", folder)
        os.rename(self.folder / folder / f"{trial}.onnx", self.folder / folder / "17.onnx")
        return done

    def run_recipe(self, name, folder):
        before = os.getcwd()
        os.chdir(self.folder / folder)
        try:
            exec(compile(recipe(name), name, "exec"), {})
        finally:
            os.chdir(before)

    def outputs(self, path, values):
        session = onnxruntime.InferenceSession(self.folder / path, providers=["CPUExecutionProvider"])
        return session.run(None, {"input": values})[0]

    def accuracy(self, path):
        return (self.outputs(path, self.images).argmax(1) == self.labels).mean()

    def test_models_with_half_precision_are_as_accurate_as_before(self):
        self.export("run", self.best(), "small")
        whole = self.accuracy("small/17.onnx")
        self.assertGreater(whole, 0.5)
        self.run_recipe("fp16", "small")
        self.assertAlmostEqual(self.accuracy("small/17.fp16.onnx"), whole, delta=0.03)
        self.assertLess((self.folder / "small/17.fp16.onnx").stat().st_size, (self.folder / "small/17.onnx").stat().st_size)

    def test_the_samples_are_of_the_training_set_of_each_class_the_same_share_and_always_the_same(self):
        for folder in ("a", "b"):
            done = self.export("run", self.best(), folder)
            self.assertEqual(done.stderr, "")
        self.assertEqual(done.stdout.split()[1], "b/calibration.npz")
        self.assertEqual((self.folder / "a/calibration.npz").read_bytes(), (self.folder / "b/calibration.npz").read_bytes())
        arrays = numpy.load(self.folder / "a/calibration.npz")
        inputs, labels = arrays["input"], arrays["label"]
        self.assertEqual((inputs.shape, inputs.dtype, labels.dtype), ((300, 1, 8, 8), numpy.float32, numpy.int32))
        known = {image.tobytes(): label for image, label in zip(self.train, self.train_labels)}
        self.assertEqual([known[image.tobytes()] for image in inputs], labels.tolist())
        shares = numpy.bincount(self.train_labels) / len(self.train_labels)
        self.assertLess(numpy.abs(numpy.bincount(labels) / 300 - shares).max(), 0.01)

    def test_where_fewer_samples_are_there_all_are_taken_and_a_line_says_how_many(self):
        done = self.skyline("export", "run", "--front", "--calibration", 5000)
        count = len(numpy.load(self.folder / "run/exports/calibration.npz")["input"])
        self.assertEqual(done.stderr, f"skyline: --calibration 5000: the training set has {count} samples, which are all in the file\n")
        self.assertLess(count, len(self.train))  # without those that are held out for validation

    def test_numbers_of_a_table_are_in_its_units(self):
        random = numpy.random.default_rng(1)
        rows = random.normal(size=(200, 2))
        price = 1e6 + 1e5 * (rows[:, 0] - rows[:, 1])
        text = "size,age,price\n" + "".join(f"{1e5 * a + 1e6},{b},{c}\n" for (a, b), c in zip(rows, price))
        (self.folder / "houses.csv").write_text(text)
        (self.folder / "houses.yaml").write_text(TABLE)
        self.skyline("prep", "arrays", "houses.csv", "--label", "price", "--targets", "numbers", "-o", "houses.h5")
        self.skyline("search", "houses.yaml", "--run", "houses")
        self.export("houses", 0, "table")
        labels = numpy.load(self.folder / "table/calibration.npz")["label"]
        self.assertEqual(labels.shape[1], 1)
        for label in labels[:, 0]:
            self.assertLess(numpy.abs(price - label).min(), 1)

    def test_a_data_set_that_has_moved_is_named(self):
        shutil.copy(self.digits, self.folder / "passing.h5")
        self.skyline("search", *small_digits(self.folder / "passing.h5"), "--set", "final=none", "--run", "left")
        (self.folder / "passing.h5").rename(self.folder / "moved.h5")
        command = ["export", "left", "--front", "--calibration", 10]
        done = self.skyline(*command, expect=2)
        self.assertRegex(done.stderr, "^skyline: --calibration: there is no .*passing.h5: name the data set of the run by --data\n$")
        (self.folder / "other").mkdir()
        other = numpy.arange(64).reshape(16, 4).astype("float32")
        numpy.savez(self.folder / "other/x.npz", x=other, y=numpy.arange(16) % 2)
        self.skyline("prep", "arrays", "other/x.npz", "-o", "other.h5")
        self.assertIn("not the same data", self.skyline(*command, "--data", "other.h5", expect=2).stderr)
        self.assertIn("calibration.npz", self.skyline(*command, "--data", "moved.h5").stdout)


if __name__ == "__main__":
    unittest.main()
