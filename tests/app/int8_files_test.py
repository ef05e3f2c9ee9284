"""Trained networks leave Skyline as int8 files, which other programs run."""

import os
import re
import shutil
import subprocess
import unittest

import h5py
import numpy
import onnxruntime

from skyline_runs import RunsCase, read_json, small_digits

try:
    from ai_edge_litert import interpreter as litert
except ImportError:
    litert = None

MIXED = """
data: {file: digits.h5}
space:
  parameters: {norm: {choice: [layer_norm, identity]}}
  network:
    - conv2d: {channels: 8, kernel: 3, stride: 2, padding: same}
    - $norm
    - relu
    - global_average_pool
    - linear: {features: $classes}
training: {epochs: 1}
objectives: [{maximize: validation_accuracy}]
constraints: [{parameters: [0, 1000]}]
search: {algorithm: exhaustive}
final: {epochs: 1, export: [onnx, onnx-int8, tflite]}
run: {keep_weights: all}
"""


class Int8Files(RunsCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls().skyline("search", *small_digits(cls.digits), "--set", "final.int8=true", "--set", "final.epochs=4",
                      "--set", "final.export=[onnx-int8, tflite, c]", "--run", "run")
        with h5py.File(cls.digits) as file:
            cls.images, cls.labels = file["test/values"][:].astype(numpy.float32), file["test/targets"][:]
        cls.front = [trial for trial in read_json(cls.folder / "run/models.json")["trials"]
                     if trial["phase"] == "search" and trial.get("final", {}).get("on_front")]

    def session(self, path):
        options = onnxruntime.SessionOptions()
        options.add_session_config_entry("session.x64quantprecision", "1")
        return onnxruntime.InferenceSession(self.folder / path, options, providers=["CPUExecutionProvider"])

    def test_onnx_runtime_has_the_int8_accuracy_that_was_measured(self):
        for trial in self.front:
            session = self.session(f"run/exports/{trial['trial']}.int8.onnx")
            outputs = session.run(None, {"input": self.images})[0]
            accuracy = (outputs.argmax(1) == self.labels).mean()
            self.assertAlmostEqual(accuracy, trial["final"]["int8_test_accuracy"], delta=1.01 / len(self.labels))
            metadata = session.get_modelmeta().custom_metadata_map
            self.assertEqual(float(metadata["int8_test_accuracy"]), trial["final"]["int8_test_accuracy"])
            self.assertEqual(metadata["int8_calibration_samples"], "500")
            self.assertEqual(metadata["onnxruntime_session_option"], "session.x64quantprecision=1")

    def test_the_command_writes_the_files_of_the_search(self):
        number = self.front[0]["trial"]
        for format, names in (("onnx-int8", [f"{number}.int8.onnx"]), ("tflite", [f"{number}.tflite"]),
                              ("c", [f"trial_{number}.h", f"trial_{number}.c", f"trial_{number}_example.cc"])):
            done = self.skyline("export", "run", "--trial", number, "--format", format, "-o", "again")
            self.assertEqual(done.stdout.split(), [f"again/{name}" for name in names])
            for name in names:
                self.assertEqual((self.folder / "again" / name).read_bytes(), (self.folder / "run/exports" / name).read_bytes())

    @unittest.skipIf(litert is None, "no LiteRT for this Python")
    def test_litert_has_nearly_the_same_accuracy(self):
        for trial in self.front:
            runtime = litert.Interpreter(str(self.folder / f"run/exports/{trial['trial']}.tflite"))
            runtime.allocate_tensors()
            (source,), (result,) = runtime.get_input_details(), runtime.get_output_details()
            text = (self.folder / f"run/exports/trial_{trial['trial']}.c").read_text()
            offset, factor = (numpy.float32(re.search(rf"input_{name}\[1\] = {{(.*)F}}", text)[1])
                              for name in ("offset", "factor"))
            zero = source["quantization"][1]
            numbers = numpy.clip(numpy.rint((self.images - offset) * factor) + zero, -128, 127).astype(numpy.int8)
            right = 0
            for image, label in zip(numbers.transpose(0, 2, 3, 1), self.labels):
                runtime.set_tensor(source["index"], image[None])
                runtime.invoke()
                right += runtime.get_tensor(result["index"]).argmax() == label
            self.assertAlmostEqual(right / len(self.labels), trial["final"]["int8_test_accuracy"], delta=0.02)

    def test_c_sources_compile_and_hold_the_bytes_of_the_tflite_file(self):
        folder, number = self.folder / "run/exports", self.front[0]["trial"]
        source = folder / f"trial_{number}.c"
        for command in (["cc", "-std=c11"], ["c++", "-std=c++17", "-x", "c++"]):
            subprocess.run([*command, "-Wall", "-Wextra", "-Werror", "-c", source, "-o", self.folder / "model.o"], check=True)
        (self.folder / "main.c").write_text(f"""
            #include "{folder}/trial_{number}.h"
            #include <stdio.h>
            int main(void) {{
              fwrite(trial_{number}_model, 1, trial_{number}_model_size, stdout);
              return trial_{number}_outputs != 10 || trial_{number}_output_names[3][0] != '3';
            }}""")
        subprocess.run(["cc", "-std=c11", source, self.folder / "main.c", "-o", self.folder / "main"], check=True)
        written = subprocess.run([self.folder / "main"], check=True, capture_output=True).stdout
        self.assertEqual(written, (folder / f"{number}.tflite").read_bytes())

    def test_a_network_with_a_layer_that_stays_float_has_no_file_for_a_board_and_the_others_have_theirs(self):
        (self.folder / "mixed.yaml").write_text(MIXED)
        told = self.skyline("search", "mixed.yaml", "--run", "mixed").stderr
        trials = {trial["parameters"]["norm"]: trial["trial"] for trial in read_json(self.folder / "mixed/models.json")["trials"]
                  if trial["phase"] == "search"}
        reason = f"trial {trials['layer_norm']}: int8: layer_norm_0 has no int8 kernel; leave it out, or take --format onnx-int8"
        exported = {path.name for path in (self.folder / "mixed/exports").iterdir()}
        if f"{trials['layer_norm']}.onnx" in exported:  # it is on the front
            self.assertIn(f"not exported: {reason}", told)
            self.assertIn(f"{trials['layer_norm']}.int8.onnx", exported)
        done = self.skyline("export", "mixed", "--trial", f"{trials['layer_norm']},{trials['identity']}", "--weights", "search",
                            "--format", "tflite", "-o", "boards", expect=2)
        self.assertEqual(done.stdout, f"boards/{trials['identity']}.tflite\n")
        self.assertEqual(done.stderr, f"skyline: {reason}\n")
        self.skyline("export", "mixed", "--trial", trials["layer_norm"], "--weights", "search", "--format", "onnx-int8", "-o", "boards")
        self.session(f"boards/{trials['layer_norm']}.int8.onnx").run(None, {"input": self.images[:3]})

    def test_a_file_that_takes_more_flash_than_its_weights_may_is_told(self):
        (self.folder / "tight.yaml").write_text(MIXED.replace("layer_norm, identity", "identity"))
        for limit in (1000, 100_000):
            run = f"tight{limit}"
            constraint = f"int8_weight_bytes: [0, {limit}]"
            told = self.skyline("search", "tight.yaml", "--set", f"constraints=[{constraint}]", "--run", run).stderr
            size = (self.folder / run / "exports/0.tflite").stat().st_size
            line = f"trial 0 takes {size} bytes of flash as a .tflite file, more than the constraint `{constraint}`"
            self.assertEqual(line in told, size > limit)
            self.assertEqual(limit == 1000, size > limit)

    def test_the_data_set_is_needed_and_may_have_moved(self):
        shutil.copytree(self.folder / "run", self.folder / "left")
        command = ["export", "left", "--trial", self.front[0]["trial"], "--format", "tflite", "-o", "moved"]
        moved = self.folder / "elsewhere.h5"
        os.rename(self.digits, moved)
        try:
            told = self.skyline(*command, expect=2).stderr
            self.assertRegex(told, "^skyline: --format: there is no .*: name the data set of the run by --data\n$")
            self.skyline(*command, "--data", moved)
        finally:
            os.rename(moved, self.digits)
        self.assertIn("--data: is for --calibration and the int8 formats",
                      self.skyline("export", "run", "--front", "--data", self.digits, expect=2).stderr)


if __name__ == "__main__":
    unittest.main()
