"""Networks learn from a larger one: what it says is written by `skyline prep teacher`, and trials use it."""

import shutil
import sys
import unittest

import h5py
import numpy

from skyline_runs import RunsCase, read_json, small_digits

PYTHON = {"SKYLINE_PYTHON": sys.executable}  # it has ONNX Runtime


def numbers_file(path):
    """A table whose target is scaled, in a file with validation samples of its own."""
    rng = numpy.random.default_rng(3)
    rows = ["a,b,price"]
    for a, b in rng.normal(size=(300, 2)):
        rows.append(f"{a:.4f},{b:.4f},{50_000 + 9000 * a - 4000 * b:.2f}")
    path.write_text("\n".join(rows) + "\n")


class Teacher(RunsCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.config = small_digits(cls.digits)
        cls().skyline("search", *cls.config, "--set", "final.export=onnx", "--run", "large")
        cls.trial = next(iter(sorted((cls.folder / "large/exports").iterdir()))).stem
        cls.told = cls().skyline("prep", "teacher", cls.digits, "--run", "large", "--trial", cls.trial, "-o", "teacher.h5").stdout
        with h5py.File(cls.digits) as file:
            cls.labels = file["train/targets"][:]
        with h5py.File(cls.folder / "teacher.h5") as file:
            cls.outputs = file["outputs"][:]
        cls.taught = [*cls.config, "--set", "training.teacher.file=teacher.h5"]

    def refused(self, *words):
        """The one line of a refusal."""
        done = self.skyline(*words, expect=2, environment=PYTHON)
        self.assertEqual((done.stdout, done.stderr.count("\n")), ("", 1), done.stderr)
        return done.stderr

    def prep(self, *words, data=None, out="other.h5"):
        return self.skyline("prep", "teacher", data or self.digits, *words, "-o", out, "--force", environment=PYTHON).stdout

    def test_its_outputs_are_those_of_the_trial_for_each_sample_in_order(self):
        right = numpy.mean(self.outputs.argmax(1) == self.labels)
        self.assertEqual(self.outputs.shape, (1442, 10))
        self.assertIn(f"train: 1442 samples, accuracy {right:.6g}"[:44], self.told)
        self.assertGreater(right, 0.3)
        with h5py.File(self.folder / "teacher.h5") as file:
            self.assertEqual(file.attrs["source"], f"large, trial {self.trial}")

    def test_an_onnx_model_and_an_array_say_the_same(self):
        self.assertIn("accuracy", self.prep("--onnx", f"large/exports/{self.trial}.onnx"))
        with h5py.File(self.folder / "other.h5") as file:
            numpy.testing.assert_allclose(file["outputs"][:], self.outputs, atol=2e-4)
        numpy.save(self.folder / "said.npy", self.outputs.astype(numpy.float64))
        self.prep("--outputs", "said.npy")
        with h5py.File(self.folder / "other.h5") as file:
            numpy.testing.assert_array_equal(file["outputs"][:], self.outputs)
        shares = numpy.exp(self.outputs - self.outputs.max(1, keepdims=True))
        numpy.save(self.folder / "shares.npy", shares / shares.sum(1, keepdims=True))
        self.assertIn("are probabilities", self.prep("--outputs", "shares.npy"))
        with h5py.File(self.folder / "other.h5") as file:
            found = file["outputs"][:] - file["outputs"][:].max(1, keepdims=True)
        kept = found > -80
        numpy.testing.assert_allclose(found[kept], (self.outputs - self.outputs.max(1, keepdims=True))[kept], atol=1e-3)

    def test_the_journal_is_the_same_for_any_number_of_ranks_and_after_a_kill(self):
        self.skyline("search", *self.taught, "--run", "one")
        whole = self.canonical("one")
        self.skyline("search", *self.config, "--run", "untaught")
        self.assertNotEqual(whole, self.canonical("untaught"))
        self.assertNotIn("teacher", (self.folder / "untaught/config.yaml").read_text())
        self.skyline("search", *self.taught, "--run", "two", ranks=2)
        self.assertEqual(self.canonical("two"), whole)
        self.kill_after(3, "search", *self.taught, "--run", "killed", ranks=2)
        self.skyline("search", "--run", "killed", "--resume")
        self.assertEqual(self.canonical("killed"), whole)
        self.assertIn("accuracy", self.skyline("evaluate", "one", "--front", "--data", self.digits).stdout)

    def test_another_teacher_is_refused_at_a_resume_but_not_missed_by_predict(self):
        shutil.copy(self.folder / "teacher.h5", self.folder / "mine.h5")
        self.skyline("search", *self.config, "--set", "training.teacher.file=mine.h5", "--run", "changed")
        numpy.save(self.folder / "zeros.npy", numpy.zeros_like(self.outputs))
        self.prep("--outputs", "zeros.npy", out="mine.h5")
        refused = self.skyline("search", "--run", "changed", "--resume", "--set", "search.iterations=3", expect=2).stderr
        self.assertRegex(refused, "`training.teacher` has changed since its trials were trained, and its results would be of two versions: .*"
                         r" \(checksum [0-9a-f]{12}, was [0-9a-f]{12}\)\n$")
        (self.folder / "mine.h5").unlink()
        self.skyline("predict", "changed", "--front", "--data", self.digits)
        self.skyline("export", "changed", "--front")

    def test_its_weight_and_temperature_are_searched(self):
        words = [*self.taught, "--set", "space.parameters.share={choice: [0, 0.5, 0.9]}", "--set", "space.parameters.heat={choice: [1, 4]}",
                 "--set", "training.teacher.weight=$share", "--set", "training.teacher.temperature=$heat"]
        self.skyline("search", *words, "--run", "searched")
        trials = read_json(self.folder / "searched/models.json")["trials"]
        self.assertGreater(len({trial["parameters"]["share"] for trial in trials}), 1)

    def test_a_refit_learns_validation_samples_from_it_too(self):
        numbers_file(self.folder / "prices.csv")
        self.skyline("prep", "arrays", "prices.csv", "--label", "price", "--targets", "numbers", "--validation", "0.2", "-o", "prices.h5")
        with h5py.File(self.folder / "prices.h5") as file:
            parts = [file[f"{part}/targets"][:] for part in ("train", "validation")]
        config = """
data: {file: prices.h5}
space: {parameters: {width: {choice: [8]}}, network: [flatten, {linear: {features: $width}}, relu, {linear: {features: $classes}}]}
training: {epochs: 10, batch: 16, optimizer: {adam: {learning_rate: 0.01}}%s}
objectives: [{minimize: validation_mse}, {minimize: parameters}]
search: {algorithm: random, trials: 1}
final: {epochs: 3, refit: true}
run: {events: false}
"""
        (self.folder / "untaught.yaml").write_text(config % "")
        self.skyline("search", "untaught.yaml", "--run", "prices")
        told = self.prep("--run", "prices", "--trial", "0", data="prices.h5", out="prices_teacher.h5")
        self.assertIn("validation: ", told)
        with h5py.File(self.folder / "prices_teacher.h5") as file:
            self.assertEqual(file["outputs"].shape, (len(parts[0]) + len(parts[1]), 1))
            worth = numpy.mean((file["outputs"][:] - numpy.concatenate(parts)) ** 2)
        self.assertLess(worth, 1, "it is in the scale of the file's targets")
        (self.folder / "taught.yaml").write_text(config % ", teacher: {file: prices_teacher.h5, weight: 0.5}")
        self.skyline("search", "taught.yaml", "--run", "taught_prices")
        self.assertTrue((self.folder / "taught_prices/weights/0.refit.h5").exists())

    def test_bad_input_is_refused_in_one_line(self):
        digits, npy = self.digits, self.folder / "bad.npy"
        numpy.save(npy, self.outputs[:-1])
        self.assertIn("bad.npy: has [1441, 10], expected [1442, 10]", self.refused("prep", "teacher", digits, "--outputs", npy, "-o", "x.h5"))
        broken = self.outputs.copy()
        broken[17, 3] = numpy.nan
        numpy.save(npy, broken)
        self.assertIn("bad.npy: its output for sample 17 (from 0) of `train` is nan, expected a finite number",
                      self.refused("prep", "teacher", digits, "--outputs", npy, "-o", "x.h5"))
        self.assertIn("expected one of --run RUN --trial NUMBER, --onnx FILE and --outputs FILE, got 0",
                      self.refused("prep", "teacher", digits, "-o", "x.h5"))
        self.assertIn("there is no x.h5, nor is it beside the configuration",
                      self.refused("validate", *self.config, "--set", "training.teacher.file=x.h5"))
        self.assertIn("digits.h5: this is a skyline-dataset file, expected a skyline-teacher file",
                      self.refused("validate", *self.config, "--set", "training.teacher.file=digits.h5"))
        permuted = numpy.random.default_rng(1).permutation(len(self.outputs))
        with h5py.File(digits) as file:
            numpy.savez(self.folder / "permuted.npz", x_train=file["train/values"][:][permuted], y_train=self.labels[permuted],
                        x_test=file["test/values"][:], y_test=file["test/targets"][:])
        self.skyline("prep", "arrays", "permuted.npz", "-o", "permuted.h5")
        self.assertIn("teacher.h5: is of other data: their checksum is",
                      self.refused("validate", *self.taught, "--set", "data.file=permuted.h5"))
        (self.folder / "command.yaml").write_text("space: {parameters: {x: {choice: [1, 2]}}}\nobjectives: [{maximize: score}]\n"
                                                  "command: {run: [sh, train.sh], metrics: [score: {better: higher}], teacher: {file: t.h5}}\n")
        self.assertIn("command: unknown key `teacher`", self.skyline("validate", "command.yaml", expect=2).stderr)
        (self.folder / "table.csv").write_text("x,score\n1,0.5\n2,0.75\n")
        (self.folder / "table.yaml").write_text("space: {parameters: {x: {choice: [1, 2]}}}\nobjectives: [{maximize: score}]\n"
                                                "table: {file: table.csv, metrics: [{name: score, column: score, better: higher}], teacher: {file: t.h5}}\n"
                                                "search: {algorithm: random, trials: 1}\n")
        refused = self.skyline("validate", "table.yaml", expect=2).stderr
        self.assertEqual((refused.count("\n"), "table: unknown key `teacher`" in refused), (1, True), refused)

    def test_other_files_than_one_array_of_float_numbers_are_refused(self):
        npy = self.folder / "no.npy"
        npy.write_text("0.5,0.5\n")
        self.assertIn("no.npy: no array that NumPy can read: ", self.refused("prep", "teacher", self.digits, "--outputs", npy, "-o", "x.h5"))
        numpy.save(npy, self.outputs.astype(numpy.int64))
        self.assertIn("no.npy: has int64, expected float numbers", self.refused("prep", "teacher", self.digits, "--outputs", npy, "-o", "x.h5"))
        numpy.savez(self.folder / "two.npz", a=self.outputs, b=self.outputs)
        self.assertIn("two.npz: has several arrays, expected one (.npy)",
                      self.refused("prep", "teacher", self.digits, "--outputs", "two.npz", "-o", "x.h5"))

    def test_a_trial_is_one_of_a_run_with_the_same_classes(self):
        self.assertIn("--run: expected one --trial NUMBER beside it", self.refused("prep", "teacher", self.digits, "--run", "large", "-o", "x.h5"))
        self.assertIn("--trial requires --run",
                      self.refused("prep", "teacher", self.digits, "--trial", self.trial, "--outputs", "said.npy", "-o", "x.h5"))
        with h5py.File(self.digits) as file:
            arrays = {}
            for part in ("train", "test"):
                fewer = file[f"{part}/targets"][:] < 9
                arrays |= {f"x_{part}": file[f"{part}/values"][:][fewer], f"y_{part}": file[f"{part}/targets"][:][fewer]}
        numpy.savez(self.folder / "fewer.npz", **arrays)
        self.skyline("prep", "arrays", "fewer.npz", "-o", "fewer.h5", "--value-scale", "16")
        self.assertIn(f"fewer.h5: its outputs are not those of large, trial {self.trial} in the same order: expected the names 0, 1, ",
                      self.refused("prep", "teacher", "fewer.h5", "--run", "large", "--trial", self.trial, "-o", "x.h5"))

    def test_probabilities_of_labels_become_their_logits(self):
        rng = numpy.random.default_rng(4)
        numpy.savez(self.folder / "labels.npz", x_train=rng.normal(size=(200, 5)).astype("float32"), y_train=rng.integers(0, 2, (200, 3)),
                    x_test=rng.normal(size=(20, 5)).astype("float32"), y_test=rng.integers(0, 2, (20, 3)))
        self.skyline("prep", "arrays", "labels.npz", "--targets", "labels", "-o", "labels.h5")
        logits = rng.normal(scale=2, size=(200, 3))
        shares = 1 / (1 + numpy.exp(-logits))
        shares[0] = [0, 1, 0.5]
        of_shares = numpy.concatenate([[[-16.118, 16.118, 0]], logits[1:]])
        for said, expected, told in ((shares, of_shares, self.assertIn), (logits, logits, self.assertNotIn)):
            numpy.save(self.folder / "said_labels.npy", said)
            told("the outputs are probabilities", self.prep("--outputs", "said_labels.npy", data="labels.h5"))
            with h5py.File(self.folder / "other.h5") as file:
                numpy.testing.assert_allclose(file["outputs"][:], expected, atol=1e-3)

    def test_a_number_without_the_logarithm_that_the_targets_are_is_refused(self):
        numbers_file(self.folder / "logs.csv")
        self.skyline("prep", "arrays", "logs.csv", "--label", "price", "--targets", "log", "-o", "logs.h5")
        with h5py.File(self.folder / "logs.h5") as file:
            said = numpy.full((len(file["train/targets"]), 1), 50_000.0)
        said[7] = -2
        numpy.save(self.folder / "said_logs.npy", said)
        self.assertIn("said_logs.npy: its output for sample 7 (from 0) of `train` is -2, which has no logarithm, and the data have those of "
                      "their targets (log)", self.refused("prep", "teacher", "logs.h5", "--outputs", "said_logs.npy", "-o", "logs_teacher.h5"))
        self.assertFalse((self.folder / "logs_teacher.h5").exists())

    def test_rows_of_other_samples_are_warned_of(self):
        numpy.save(self.folder / "rolled.npy", numpy.random.default_rng(2).normal(size=self.outputs.shape))
        done = self.skyline("prep", "teacher", self.digits, "--outputs", "rolled.npy", "-o", "rolled.h5", environment=PYTHON)
        self.assertIn("are its rows those of the data's samples, in order?", done.stderr)
        self.assertIn("hardly more often right than always saying the commonest class", done.stderr)

    def test_rows_of_labels_and_numbers_no_better_than_chance_are_warned_of(self):
        rng = numpy.random.default_rng(6)
        x = rng.normal(size=(200, 4)).astype("float32")
        for targets, y, problem in (("labels", (x[:, :2] > 0).astype(int), "is no more often right than chance, with an auc of 0 for"),
                                    ("numbers", x[:, :2] * 30 + 7, "is no closer than always saying the mean, with an r2 of -")):
            numpy.savez(self.folder / "chance.npz", x_train=x, y_train=y, x_test=x[:20], y_test=y[:20])
            self.skyline("prep", "arrays", "chance.npz", "--targets", targets, "-o", f"chance_{targets}.h5")
            for said, told in ((y, self.assertNotIn), (-y if targets == "labels" else y[::-1], self.assertIn)):
                numpy.save(self.folder / "chance.npy", said.astype("float32"))
                done = self.skyline("prep", "teacher", f"chance_{targets}.h5", "--outputs", "chance.npy", "-o", "chance.h5", "--force",
                                    environment=PYTHON)
                told(f"chance.npy: {problem}", done.stderr)
                told(" for `train`: are its rows those of the data's samples, in order?\n", done.stderr)


if __name__ == "__main__":
    unittest.main()
