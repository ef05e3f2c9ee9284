"""ONNX Runtime and PyTorch compute what Skyline computes, for layers of every kind and networks of the worked spaces.

usage: runtimes_test.py FOLDER LEAST_NETWORKS, where drawn_models has written FOLDER
"""

import importlib.util
import pathlib
import sys
import unittest

import numpy
import onnx
import onnxruntime

try:
    import torch
except (ImportError, OSError) as problem:
    torch = None
    print(f"PyTorch is not compared: {problem}")

FOLDER, LEAST_NETWORKS = pathlib.Path(sys.argv[1]), int(sys.argv[2])
del sys.argv[1:]


class Runtimes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.models = sorted(path for path in FOLDER.glob("*.onnx") if not path.name.endswith(".int8.onnx"))

    def values(self, path, dims):
        inputs = numpy.fromfile(path.with_suffix(".inputs"), numpy.float32).reshape(-1, *dims)
        return inputs, numpy.fromfile(path.with_suffix(".outputs"), numpy.float32).reshape(len(inputs), -1)

    def module_at(self, path):
        spec = importlib.util.spec_from_file_location(path.stem, path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    def source_of(self, path):
        """The module of a network, its inputs as a tensor, and the outputs that Skyline computes."""
        module = self.module_at(path.with_suffix(".py"))
        dims = onnx.load(path).graph.input[0].type.tensor_type.shape.dim[1:]
        inputs, outputs = self.values(path, [dim.dim_value for dim in dims])
        return module, torch.from_numpy(inputs), outputs

    def assert_near(self, got, expected):
        self.assertEqual(got.shape, expected.shape)
        self.assertLessEqual(numpy.abs(got - expected).max(), 1e-4 * max(numpy.abs(expected).max(), 1e-3))

    def test_onnx_runtime_computes_the_same(self):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        self.assertGreater(len(self.models), LEAST_NETWORKS + 38)
        for path in self.models:
            with self.subTest(path.stem):
                onnx.checker.check_model(onnx.load(path), full_check=True)
                session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
                (boundary,) = session.get_inputs()
                inputs, outputs = self.values(path, boundary.shape[1:])
                (all_at_once,) = session.run(None, {boundary.name: inputs})
                self.assert_near(all_at_once, outputs)
                (alone,) = session.run(None, {boundary.name: inputs[:1]})
                self.assert_near(alone, outputs[:1])

    def test_onnx_models_take_a_batch_of_no_samples(self):
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL  # some of it fails
        for path in self.models:
            with self.subTest(path.stem):
                session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
                (boundary,) = session.get_inputs()
                inputs, outputs = self.values(path, boundary.shape[1:])
                (none,) = session.run(None, {boundary.name: inputs[:0]})
                self.assertEqual(none.shape, (0, outputs.shape[1]))

    def test_an_onnx_model_says_what_it_is(self):
        model = onnx.load(self.models[0])
        self.assertEqual([(each.domain, each.version) for each in model.opset_import], [("", 17)])
        self.assertEqual(model.producer_name, "Skyline")
        metadata = {each.key: each.value for each in model.metadata_props}
        self.assertEqual(metadata["genotype"], 'a "quoted"\ntext')
        self.assertEqual(model.graph.input[0].type.tensor_type.shape.dim[0].dim_param, "batch")

    @unittest.skipIf(torch is None, "no PyTorch for this Python")
    def test_the_pytorch_source_computes_the_same(self):
        torch.set_num_threads(1)
        for path in self.models:
            with self.subTest(path.stem), torch.inference_mode():
                module, inputs, outputs = self.source_of(path)
                self.assert_near(module.load()(inputs).numpy(), outputs)
                self.assertEqual(module.METADATA["genotype"], 'a "quoted"\ntext')

    @unittest.skipIf(torch is None, "no PyTorch for this Python")
    def test_an_untrained_network_begins_with_values_and_computes_the_same_with_trained_weights(self):
        torch.set_num_threads(1)
        for path in self.models:
            with self.subTest(path.stem), torch.inference_mode():
                module, inputs, outputs = self.source_of(path)
                trained = module.load()
                untrained = self.module_at(path.with_name(path.stem + "_untrained.py"))
                self.assertEqual(untrained.METADATA, module.METADATA)
                network = untrained.Network().eval()
                scaled = (inputs - trained.offset) * trained.factor
                self.assertTrue(torch.isfinite(network(scaled)).all())
                network.load_state_dict(trained.state_dict())
                got = network(scaled) * trained.output_factor + trained.output_offset
                self.assert_near(got.numpy(), outputs)

    @unittest.skipIf(torch is None, "no PyTorch for this Python")
    def test_tools_of_pytorch_take_the_source_and_keep_its_batch_free(self):
        torch.set_num_threads(1)
        free = {0: torch.export.Dim("batch")}
        tools = {"trace": lambda network, example: torch.jit.trace(network, example),
                 "script": lambda network, example: torch.jit.script(network),
                 "fx": lambda network, example: torch.fx.symbolic_trace(network),
                 "export": lambda network, example: torch.export.export(
                     network, (example,), dynamic_shapes=(free,)).module()}
        for path in self.models:
            module, inputs, outputs = self.source_of(path)
            for tool, taken_by in tools.items():
                with self.subTest(path.stem, tool=tool), torch.no_grad():
                    taken = taken_by(module.load(), inputs[:2])
                    self.assert_near(taken(inputs[:3]).numpy(), outputs[:3])
                    self.assert_near(taken(inputs[:1]).numpy(), outputs[:1])
            with self.subTest(path.stem, tool="script in training"):
                trained = torch.jit.script(module.load().train())(inputs[:3])
                self.assertEqual(trained.shape, outputs[:3].shape)


if __name__ == "__main__":
    unittest.main()
