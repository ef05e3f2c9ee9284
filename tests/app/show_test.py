"""Architectures leave a space or a run before they are trained: as a module, as ONNX, as a list of layers."""

import importlib.util
import json
import re
import unittest

import h5py
import numpy
import onnx
import onnxruntime
import torch

from skyline_runs import RunsCase, read_json, small_digits

CONDITIONED = """
data: {shape: [1, 10, 10], classes: 10}
synthetic: {}
space:
  parameters:
    first:  {range: [1, 8]}
    second: {range: [1, 8]}
    third:  {range: [1, 8]}
    kernel: {choice: [1, 3, 5]}
  where: [$first + $second + $third == 12]
  network:
    - conv2d: {channels: $first, kernel: $kernel, padding: same}
    - conv2d: {channels: $second, kernel: 3, padding: same}
    - conv2d: {channels: $third, kernel: 1}
    - global_average_pool
    - linear: {features: $classes}
objectives: [{maximize: validation_accuracy}, {minimize: flops}]
constraints: [{parameters: [0, 600]}]
search: {algorithm: random, trials: 2}
"""


class Show(RunsCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        torch.set_num_threads(1)
        cls().skyline("search", *small_digits(cls.digits), "--run", "run")
        (cls.folder / "conditioned.yaml").write_text(CONDITIONED)
        with h5py.File(cls.digits) as file:
            cls.images = file["test/values"][:9].astype(numpy.float32)

    def show(self, *arguments, **more):
        return self.skyline("show", *arguments, **more)

    def refusal(self, *arguments):
        text = self.show(*arguments, expect=2).stderr
        self.assertEqual(text.count("\n"), 1, text)
        return text

    def module_at(self, path):
        spec = importlib.util.spec_from_file_location(path.stem, path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    def outputs(self, path):
        return onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"]).run(None, {"input": self.images})[0]

    def test_a_trial_leaves_as_a_module_and_as_onnx_that_compute_the_same_from_the_same_weights(self):
        trial = read_json(self.folder / "run/models.json")["trials"][2]
        for format, name in (("pytorch", "trial_2.py"), ("onnx", "trial_2.onnx"), ("json", "trial_2.json")):
            self.assertEqual(self.show("run", "--trial", 2, "--format", format, "-o", "left/").stdout, f"left/{name}\n")
        module = self.module_at(self.folder / "left/trial_2.py")
        self.assertEqual((module.METADATA["arch_id"], module.METADATA["weights"]), (trial["arch_id"], "untrained"))
        network = module.Network().eval()
        tensors = {each.name: torch.tensor(onnx.numpy_helper.to_array(each))
                   for each in onnx.load(self.folder / "left/trial_2.onnx").graph.initializer}
        counters = {name: value for name, value in network.state_dict().items() if name.endswith("num_batches_tracked")}
        network.load_state_dict({**counters, **{name: tensors[name] for name in network.state_dict() if name not in counters}})
        with torch.inference_mode():
            expected = network(torch.tensor(self.images)).numpy()
        numpy.testing.assert_allclose(self.outputs(self.folder / "left/trial_2.onnx"), expected, atol=1e-5)
        self.assertGreater(numpy.abs(expected).max(), 1e-3)

    def test_the_layers_of_an_architecture_are_json_that_adds_up(self):
        told = json.loads(self.show("run", "--trial", 2, "--format", "json").stdout)
        trial = read_json(self.folder / "run/models.json")["trials"][2]
        self.assertEqual({name: told[name] for name in ("arch_id", "parameters", "costs")},
                         {name: trial[name] for name in ("arch_id", "parameters", "costs")})
        for cost in ("parameters", "macs", "flops"):
            self.assertEqual(sum(layer[cost] for layer in told["layers"]), told["costs"][cost])
        self.assertEqual((told["input"], told["layers"][-1]["output"]), ([1, 8, 8], [10, 1, 1]))

    def test_the_weights_of_an_untrained_model_depend_on_the_seed_alone(self):
        few = [*small_digits(self.digits), "--genotype", "depth=2,kernel=3,width=8", "--format", "onnx"]
        for name, seed in (("a", 1), ("b", 1), ("c", 2)):
            self.show(*few, "--set", f"run.seed={seed}", "-o", f"{name}.onnx")
        a, b, c = ((self.folder / f"{name}.onnx").read_bytes() for name in "abc")
        self.assertEqual(a, b)
        self.assertNotEqual(a, c)

    def test_samples_are_files_that_are_numbered_in_a_folder(self):
        written = self.show(*small_digits(self.digits), "--sample", 3, "--format", "pytorch", "-o", "samples").stdout.split()
        self.assertEqual(written, [f"samples/network_{i}.py" for i in range(3)])
        ids = {self.module_at(self.folder / path).METADATA["arch_id"] for path in written}
        self.assertEqual(len(ids), 3)
        self.assertIn("samples/network_0.py: exists already (--force overwrites it)",
                      self.refusal(*small_digits(self.digits), "--format", "pytorch", "-o", "samples"))
        few = self.show("conditioned.yaml", "--set", "space.parameters.kernel.choice=[1]", "--sample", 1000)
        self.assertEqual(few.stderr, f"skyline: --sample 1000: found {few.stdout.count('architecture ')}, and the space has no more\n")

    def test_the_front_of_a_run_can_be_shown(self):
        front = [trial["trial"] for trial in read_json(self.folder / "run/models.json")["trials"]
                 if trial["phase"] == "search" and trial.get("final", {}).get("on_front")]
        written = self.show("run", "--front", "--format", "json", "-o", "front").stdout.split()
        self.assertEqual(written if len(front) > 1 else sorted(written), [f"front/trial_{number}.json" for number in sorted(front)])

    def test_missing_values_are_drawn_so_that_the_conditions_and_constraints_hold(self):
        seen = set()
        for seed in range(1, 6):
            shown = self.show("conditioned.yaml", "--genotype", "first=3,third=4", "--set", f"run.seed={seed}", "--format", "json")
            told = json.loads(shown.stdout)
            values = told["parameters"]
            self.assertEqual((values["first"], values["second"], values["third"]), (3, 5, 4))
            self.assertLessEqual(told["costs"]["parameters"], 600)
            seen.add(values["kernel"])
            self.assertEqual(shown.stderr,
                             f"skyline: --genotype: drawn, since it is not given: second=5 kernel={values['kernel']}\n")
        self.assertGreater(len(seen), 1)
        again = self.show("conditioned.yaml", "--genotype", "first=3,third=4", "--set", "run.seed=5", "--format", "json")
        self.assertEqual(json.loads(again.stdout), told)
        whole = self.show("conditioned.yaml", "--genotype", "first=3,second=5,third=4,kernel=1")
        self.assertEqual(whole.stderr, "")

    def test_values_that_no_architecture_has_are_refused(self):
        self.assertRegex(self.refusal("conditioned.yaml", "--genotype", "first=1,third=1"),
                         "--genotype: found no valid architecture with these values; the last one tried: its values break `where`")
        self.assertRegex(self.refusal("conditioned.yaml", "--genotype", "first=3", "--set", "constraints=[{parameters: [0, 5]}]"),
                         "the last one tried: its costs break the constraints")

    def test_mistakes_are_one_line(self):
        config = [*small_digits(self.digits)]
        for arguments, expected in (
                ([*config, "--format", "onnx"], "--format onnx: name a file or a folder by -o"),
                ([*config, "--format", "json", "--sample", 2], "--format: name a folder for 2 files by -o"),
                ([*config, "--format", "keras"], "--format: got `keras`, known here: dot, json, onnx, pytorch, table"),
                ([*config, "--trial", 1], "digits.yaml: is no run, so it has no trials"),
                (["run", "--trial", 999], "--trial 999: run has no such trial"),
                (["run", "--set", "run.seed=2"], "--set: run is a run, whose configuration stays as it is"),
                ([self.folder, "--sample", 1], "not a run folder")):
            with self.subTest(expected):
                self.assertIn(expected, self.refusal(*arguments))
        self.assertRegex(self.show("run", "--trial", 0).stdout, re.compile(r"^architecture \w+: depth=\d .*^all ", re.S | re.M))


if __name__ == "__main__":
    unittest.main()
