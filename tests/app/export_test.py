"""Models are taken out of a run: exported, and measured by programs that are not Skyline."""

import unittest

import h5py
import numpy
import onnxruntime

from skyline_runs import RunsCase, read_json, small_digits


class Export(RunsCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls().skyline("search", *small_digits(cls.digits), "--set", "run.keep_weights=all", "--run", "run")
        cls.trials = [trial for trial in read_json(cls.folder / "run/models.json")["trials"] if trial["phase"] == "search"]
        cls.front = [trial for trial in cls.trials if trial["on_front"]]
        with h5py.File(cls.digits) as file:
            cls.images = file["test/values"][:].astype(numpy.float32)
            cls.labels = file["test/targets"][:]

    def outputs(self, path):
        session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
        return session.run(None, {"input": self.images})[0]

    def refusal(self, *arguments):
        return self.skyline(*arguments, expect=2).stderr

    def test_the_front_has_its_test_accuracy_in_onnx_runtime(self):
        written = self.skyline("export", "run", "--front").stdout.split()
        self.assertEqual(len(written), len(self.front))
        for trial in self.front:
            outputs = self.outputs(self.folder / f"run/exports/{trial['trial']}.onnx")
            accuracy = (outputs.argmax(1) == self.labels).mean()
            self.assertAlmostEqual(accuracy, trial["final"]["test_accuracy"], 9)

    def test_a_model_says_where_it_comes_from(self):
        trial = self.front[0]
        self.skyline("export", "run", "--trial", trial["trial"])
        session = onnxruntime.InferenceSession(self.folder / f"run/exports/{trial['trial']}.onnx")
        metadata = session.get_modelmeta().custom_metadata_map
        self.assertEqual((metadata["run"], metadata["arch_id"], metadata["weights"]), ("run", trial["arch_id"], "final"))
        self.assertEqual(float(metadata["objective.flops"]), trial["objectives"]["flops"])
        self.assertEqual(float(metadata["test_accuracy"]), trial["final"]["test_accuracy"])
        self.assertIn(f"width={trial['parameters']['width']}", metadata["genotype"])

    def test_the_weights_of_the_search_can_be_asked_for(self):
        number = self.front[0]["trial"]
        for weights in ("search", "final"):
            self.skyline("export", "run", "--trial", number, "--weights", weights, "-o", weights)
        search, final = (self.outputs(self.folder / weights / f"{number}.onnx") for weights in ("search", "final"))
        self.assertGreater(numpy.abs(search - final).max(), 1e-3)

    def test_several_trials_can_be_named(self):
        written = self.skyline("export", "run", "--trial", "0,1", "--format", "safetensors").stdout.split()
        self.assertEqual(written, ["run/exports/0.safetensors", "run/exports/1.safetensors"])

    def test_a_pytorch_module_brings_its_weights(self):
        self.skyline("export", "run", "--trial", 0, "--format", "pytorch", "-o", "modules")
        self.assertEqual(sorted(path.name for path in (self.folder / "modules").iterdir()),
                         ["trial_0.py", "trial_0.safetensors"])
        compile((self.folder / "modules/trial_0.py").read_text(), "trial_0.py", "exec")

    def test_files_of_another_folder_are_not_overwritten_unasked(self):
        mine = self.folder / "mine/0.onnx"
        mine.parent.mkdir()
        mine.write_text("precious")
        self.assertIn("mine/0.onnx: exists already (--force overwrites it)",
                      self.refusal("export", "run", "--trial", 0, "-o", "mine"))
        self.assertEqual(mine.read_text(), "precious")
        self.skyline("export", "run", "--trial", 0, "-o", "mine", "--force")
        self.assertNotEqual(mine.read_bytes(), b"precious")

    def test_mistakes_are_told_in_one_line(self):
        last = self.trials[-1]["trial"]
        for arguments, message in (
                (["run"], "expected either --trial NUMBER or --front"),
                (["run", "--front", "--trial", 1], "expected either --trial NUMBER or --front"),
                (["run", "--trial", last + 1], f"--trial {last + 1}: run has no such trial"),
                (["nothing", "--front"], "nothing: not a run folder"),
                (["run", "--front", "--format", "tflite"], "--format")):
            with self.subTest(arguments):
                text = self.refusal("export", *arguments)
                self.assertIn(message, text)
                self.assertEqual(text.count("\n"), 1)

    def test_a_run_is_only_read(self):
        files = {path: path.stat().st_mtime_ns for path in (self.folder / "run").rglob("*") if "exports" not in path.parts}
        self.skyline("export", "run", "--front", "--format", "pytorch")
        self.assertEqual({path: path.stat().st_mtime_ns for path in files}, files)


if __name__ == "__main__":
    unittest.main()
