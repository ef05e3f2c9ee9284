"""Tables with labels, numbers and words come in as npz, HDF5 and CSV, and a search on each learns them by its own metrics."""

import unittest

import h5py
import numpy

from skyline_runs import RunsCase, read_json

CONFIG = """
data: {file: %s.h5, validation: 0.2}
space:
  parameters: {width: {choice: [8, 16]}}
  network: [flatten, {linear: {features: $width}}, relu, {linear: {features: $classes}}]
training: {epochs: 4, batch: 8, optimizer: {adam: {learning_rate: 1.0e-2}}}
final: {epochs: 20}
objectives: [{%s}, {minimize: parameters}]
search: {algorithm: random, trials: 3}
run: {seed: 1, events: false}
"""


class TargetsTest(RunsCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        random = numpy.random.default_rng(1)
        cls.x = random.normal(size=(240, 5))
        cls.numbers = cls.x[:, :2] @ random.normal(size=(2, 2)) + 0.01 * random.normal(size=(240, 2))
        cls.labels = (cls.x[:, :3] > 0).astype("uint8")

    def parts(self, y, kind="float32"):
        return {"x_train": self.x[:200].astype(kind), "y_train": y[:200], "x_test": self.x[200:].astype(kind), "y_test": y[200:]}

    def searched(self, name, source, objective):
        """@return  what `prep` said, and the full training of a front member"""
        said = self.skyline("prep", "arrays", source, "-o", f"{name}.h5").stdout
        (self.folder / f"{name}.yaml").write_text(CONFIG % (name, objective))
        for ranks in (1, 2):
            self.skyline("search", f"{name}.yaml", "--run", f"{name}-{ranks}", "--quiet", ranks=ranks)
        self.assertEqual(self.canonical(f"{name}-1"), self.canonical(f"{name}-2"))
        trials = read_json(self.folder / f"{name}-1/models.json")["trials"]
        return said, next(trial["final"] for trial in trials if "final" in trial)

    def test_numbers_of_an_hdf5_file_are_learned_by_their_squared_error(self):
        with h5py.File(self.folder / "numbers.hdf5", "w") as file:
            for name, array in self.parts(self.numbers.astype("float32")).items():
                file[name] = array
        said, metrics = self.searched("numbers", "numbers.hdf5", "minimize: validation_mse")
        self.assertIn("200 training and 40 test samples of 5x1x1, 2 numbers", said)
        self.assertLess(metrics["test_mse"], 0.2 * self.numbers[200:].var())
        self.assertNotIn("test_accuracy", metrics)
        self.assertNotIn("bring them", self.skyline("validate", "numbers.yaml").stdout)

    def test_labels_of_an_npz_file_are_learned_by_the_area_under_the_curve(self):
        numpy.savez_compressed(self.folder / "labels.npz", **self.parts(self.labels, "float64"))
        said, metrics = self.searched("labels", "labels.npz", "maximize: validation_auc")
        self.assertIn("200 training and 40 test samples of 5x1x1, 3 labels", said)
        self.assertGreater(metrics["test_auc"], 0.95)
        self.assertNotIn("test_accuracy", metrics)
        numpy.savez(self.folder / "alike.npz", x_test=self.x[:9].astype("float32"), y_test=numpy.ones((9, 3), "uint8"))
        said = self.skyline("evaluate", "labels-1", "--front", "--data", "alike.npz", "-o", "measured.json").stdout
        self.assertIn("auc undefined: all samples have the same targets\n", said)
        (*_, measured) = read_json(self.folder / "measured.json")
        self.assertEqual((measured["metrics"], measured["undefined"]), ({"auc": None}, {"auc": "all samples have the same targets"}))

    def write_csv(self, name, column, layout):
        rows = [",".join([*(f"{value:.6f}" for value in row), layout % target]) for row, target in zip(self.x, column)]
        (self.folder / f"{name}.csv").write_text("a,b,c,d,e,target\n" + "\n".join(rows) + "\n")

    def test_classes_that_are_called_like_other_columns_of_predictions_are_told_apart(self):
        words = numpy.array(["class", "row"])[(self.x[:, 0] > 0).astype(int)]
        numpy.savez(self.folder / "clash.npz", x_train=self.x.astype("float32"), y_train=words)
        self.searched("clash", "clash.npz", "maximize: validation_accuracy")
        trial = next(each["trial"] for each in read_json(self.folder / "clash-1/models.json")["trials"] if "final" in each)
        said = self.skyline("predict", "clash-1", "--trial", trial, "--data", "clash.h5").stdout
        self.assertEqual(said.splitlines()[0], "row,class,output_class,output_row")
        self.assertEqual({line.split(",")[1] for line in said.splitlines()[1:]}, {"class", "row"})

    def test_words_of_a_csv_file_are_classes_and_its_numbers_are_numbers(self):
        self.write_csv("words", numpy.where(self.x[:, 0] > 0, "warm", "cold"), "%s")
        said, metrics = self.searched("words", "words.csv", "maximize: validation_accuracy")
        self.assertRegex(said, r"cold +\d+ +\d+\nwarm +\d+ +\d+\n")
        self.assertGreater(metrics["test_accuracy"], 0.85)
        self.write_csv("scaled", 300 + 50 * self.x[:, 1], "%.3f")
        self.assertRegex(self.skyline("prep", "arrays", "scaled.csv", "-o", "scaled.h5").stdout,
                         r"targets: `target` is numbers, stored as \(value - (299|30\d)\S* / 4\d")
        (self.folder / "scaled.yaml").write_text(CONFIG % ("scaled", "minimize: validation_mse"))
        self.assertNotIn("bring them", self.skyline("validate", "scaled.yaml").stdout)

    def test_numbers_of_arrays_are_learned_as_they_are(self):
        numpy.savez(self.folder / "prices.npz", **self.parts(300 + 50 * self.x[:, 1].astype("float32")))
        self.skyline("prep", "arrays", "prices.npz", "-o", "prices.h5")
        (self.folder / "prices.yaml").write_text(CONFIG % ("prices", "minimize: validation_mae"))
        said = self.skyline("validate", "prices.yaml", "--set", "training.metrics=[mae]").stdout
        self.assertRegex(said, r"# data: the targets of output 0 have mean (299|30\d)\S* and deviation 4\d\S*: bring them to mean 0 and "
                         r"deviation 1 yourself, since networks learn them as they are\n")


if __name__ == "__main__":
    unittest.main()
