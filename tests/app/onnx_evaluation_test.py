"""Networks in ONNX files are evaluated: those of a run, and those that another program wrote."""

import sys
import unittest

import h5py
import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

from skyline_runs import RunsCase, read_json, small_digits

PYTHON = {"SKYLINE_PYTHON": sys.executable}  # it has ONNX Runtime


class OnnxEvaluation(RunsCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls().skyline("search", *small_digits(cls.digits), "--set", "search.iterations=1", "--set", "final.export=onnx", "--run", "run")
        cls.trial = next(iter(sorted((cls.folder / "run/exports").iterdir()))).stem
        cls.exported = f"run/exports/{cls.trial}.onnx"
        with h5py.File(cls.digits) as file:
            cls.images = file["test/values"][:].astype(numpy.float32)
            cls.labels = file["test/targets"][:]

    def evaluate(self, *words, **options):
        return self.skyline("evaluate", *words, environment={**PYTHON, **options.pop("variables", {})}, **options)

    def refused(self, *words, variables=None):
        """The one line of a refusal."""
        done = self.evaluate(*words, expect=2, variables=variables or {})
        self.assertEqual((done.stdout, done.stderr.count("\n")), ("", 1), done.stderr)
        return done.stderr

    def foreign(self, name, batch="batch", features=(1, 8, 8), outputs=10, kind=TensorProto.FLOAT, squeezed=False, metadata=None,
                damaged=False):
        """A linear network of another program, and its weights."""
        weights = numpy.random.default_rng(1).normal(size=(int(numpy.prod(features)), outputs)).astype(numpy.float32)
        if damaged:
            weights[0] = numpy.nan
        nodes = [helper.make_node("Cast", ["x"], ["numbers"], to=TensorProto.FLOAT), helper.make_node("Flatten", ["numbers"], ["flat"]),
                 helper.make_node("MatMul", ["flat", "weights"], ["y" if not squeezed else "rows"])]
        if squeezed:
            nodes.append(helper.make_node("Squeeze", ["rows"], ["y"]))
        graph = helper.make_graph(nodes, "linear", [helper.make_tensor_value_info("x", kind, [batch, *features])],
                                  [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)], [numpy_helper.from_array(weights, "weights")])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
        model.ir_version = 8
        helper.set_model_props(model, metadata or {})
        onnx.save(model, self.folder / name)
        return weights

    def share_right(self, weights, images):
        return numpy.mean((images.reshape(len(images), -1) @ weights).argmax(1) == self.labels)

    def test_an_exported_model_is_evaluated_as_in_its_run(self):
        of_run = self.evaluate("run", "--trial", self.trial, "--data", self.digits, "-o", "run.json")
        of_file = self.evaluate(self.exported, "--data", self.digits, "-o", "file.json")
        self.assertEqual(of_file.stdout, of_run.stdout)
        self.assertEqual(read_json(self.folder / "file.json"), {"model": self.exported, **read_json(self.folder / "run.json")})

    def test_its_samples_are_prepared_as_the_file_says(self):
        numpy.savez(self.folder / "new.npz", x_test=self.images[:50].astype(numpy.uint8), y_test=self.labels[:50])
        self.assertEqual(self.evaluate(self.exported, "--data", "new.npz").stdout,
                         self.evaluate("run", "--trial", self.trial, "--data", "new.npz").stdout)
        numpy.savez(self.folder / "other.npz", x_test=self.images[:50].astype(numpy.uint8), y_test=self.labels[:50] + 7)
        self.assertIn("other.npz: the model does not know the class `", self.refused(self.exported, "--data", "other.npz"))

    def test_metrics_are_chosen_by_name(self):
        said = self.evaluate(self.exported, "--data", self.digits, "--metrics", "accuracy,macro_f1").stdout.split()
        self.assertEqual((said[0], said[2]), ("accuracy", "macro_f1"))
        self.assertIn("unknown metric `acuracy`, did you mean `accuracy`", self.refused(self.exported, "--data", self.digits, "--metrics", "acuracy"))
        self.assertIn("the metric `mse` is not one of classes", self.refused(self.exported, "--data", self.digits, "--metrics", "mse"))

    def test_a_model_of_another_program_reads_what_is_stored_or_pixels_from_0_to_1(self):
        weights = self.foreign("linear.onnx")
        stored = float(self.evaluate("linear.onnx", "--data", self.digits).stdout.split()[1])
        self.assertAlmostEqual(stored, self.share_right(weights, self.images), delta=1e-4)
        unit = float(self.evaluate("linear.onnx", "--data", self.digits, "--unit", "--metrics", "accuracy").stdout.split()[1])
        self.assertAlmostEqual(unit, self.share_right(weights, self.images / numpy.float32(16)), delta=1e-4)

    def test_a_batch_of_fixed_size_is_filled(self):
        """Archai's sample exports a batch of one, whose output has no batch."""
        for name, batch, squeezed in (("one.onnx", 1, True), ("hundred.onnx", 100, False)):
            weights = self.foreign(name, batch=batch, squeezed=squeezed)
            said = self.evaluate(name, "--data", self.digits).stdout.split()
            self.assertAlmostEqual(float(said[1]), self.share_right(weights, self.images), delta=1e-4)
            self.assertEqual(said[-2:], ["355", "samples"])

    def test_what_does_not_fit_the_data_is_refused(self):
        self.foreign("wide.onnx", features=(1, 8, 9))
        self.assertIn("digits.h5: samples are 1x8x8, the model's are 1x8x9", self.refused("wide.onnx", "--data", self.digits))
        self.foreign("twelve.onnx", outputs=12)
        self.assertIn("twelve.onnx: its output is [256, 12] for 256 samples, expected [256, 10], as the data have 10 classes",
                      self.refused("twelve.onnx", "--data", self.digits))
        self.foreign("whole.onnx", kind=TensorProto.INT64)
        self.assertIn("whole.onnx: its input is tensor(int64), expected tensor(float)", self.refused("whole.onnx", "--data", self.digits))
        self.foreign("flat.onnx", features=(64, 1))
        self.assertIn("flat.onnx: its input is ['batch', 64, 1], expected [batch, channels, height, width] or [batch, values]",
                      self.refused("flat.onnx", "--data", self.digits))

    def test_what_is_no_model_is_refused(self):
        (self.folder / "damaged.onnx").write_bytes((self.folder / self.exported).read_bytes()[:-300])
        self.assertIn("damaged.onnx: no model that ONNX Runtime can load: ", self.refused("damaged.onnx", "--data", self.digits))
        self.assertEqual("skyline: none.onnx: expected an ONNX model, found nothing\n", self.refused("none.onnx", "--data", self.digits))
        for names in ("[" * 100_000, '["\\ud800"]', "[1]", "[]"):
            self.foreign("names.onnx", metadata={"class_names": names})
            self.assertIn("names.onnx: its metadata `class_names` are no list of printable texts",
                          self.refused("names.onnx", "--data", self.digits))
        for said in ({"preparation": "[" * 100_000}, {"preparation": "{}"}):
            self.foreign("prepared.onnx", metadata={"class_names": '["0", "1"]', **said})
            self.assertIn("preparation", self.refused("prepared.onnx", "--data", self.digits))

    def test_samples_are_prepared_before_where_the_model_does_not_say_how(self):
        self.foreign("linear.onnx")
        numpy.savez(self.folder / "raw.npz", x_test=self.images[:50].astype(numpy.uint8), y_test=self.labels[:50])
        self.assertIn("raw.npz: expected a prepared data set (skyline prep), as the model does not say how",
                      self.refused("linear.onnx", "--data", "raw.npz"))

    def test_names_of_classes_alone_do_not_say_how_samples_are_prepared(self):
        rows = "".join(f"{row % 7},{row % 5},{'ab'[row % 2]}\n" for row in range(40))
        (self.folder / "rows.csv").write_text("first,second,label\n" + rows)
        self.skyline("prep", "arrays", "rows.csv", "-o", "rows.h5")
        self.foreign("named.onnx", features=(2,), outputs=2, metadata={"class_names": '["b", "a"]'})
        self.foreign("unnamed.onnx", features=(2,), outputs=2)
        named, unnamed = (float(self.evaluate(name, "--data", "rows.h5").stdout.split()[1]) for name in ("named.onnx", "unnamed.onnx"))
        self.assertAlmostEqual(named, 1 - unnamed)  # the same outputs, of classes in the other order
        self.skyline("prep", "arrays", "rows.csv", "-o", "numbers.h5", "--label", "first,second", "--targets", "numbers")
        self.assertIn("numbers.h5: its targets are numbers, the model's are classes", self.refused("named.onnx", "--data", "numbers.h5"))

    def test_outputs_that_are_no_numbers_are_refused(self):
        self.foreign("damaged.onnx", damaged=True)
        self.assertEqual("skyline: damaged.onnx: its output for sample 0 (from 0) is not a number (NaN)\n",
                         self.refused("damaged.onnx", "--data", self.digits))

    def test_options_of_a_run_and_of_a_file_are_told_apart(self):
        self.assertIn("--trial, --front and --weights choose models of a run", self.refused(self.exported, "--trial", 0, "--data", self.digits))
        self.assertIn("--unit: run/exports", self.refused(self.exported, "--unit", "--data", self.digits))
        for words in (["--unit"], ["--metrics", "accuracy"]):
            self.assertIn(f"{words[0]}: of an ONNX model alone", self.refused("run", "--trial", 0, "--data", self.digits, *words))
        self.assertIn("expected --data", self.refused(self.exported))

    def test_a_python_without_onnx_runtime_is_told_what_to_install(self):
        bare = self.folder / "bare"
        bare.write_text(f'#!/bin/sh\nexec {sys.executable} -S "$@"\n')
        bare.chmod(0o755)
        self.assertIn(f"SKYLINE_PYTHON ({bare}) lacks numpy onnxruntime: pip install numpy onnxruntime, or name another Python",
                      self.refused(self.exported, "--data", self.digits, variables={"SKYLINE_PYTHON": str(bare), "PYTHONPATH": ""}))


if __name__ == "__main__":
    unittest.main()
