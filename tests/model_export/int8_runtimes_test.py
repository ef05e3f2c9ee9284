"""ONNX Runtime, LiteRT and TFLite Micro compute with int8 files what Skyline computes, for layers of every kind and
networks of the worked spaces. The latter two are compared if they are installed.

usage: int8_runtimes_test.py FOLDER, where drawn_models has written FOLDER
"""

import os
import pathlib
import re
import sys
import tempfile
import unittest

import numpy
import onnx
import onnxruntime

try:
    from ai_edge_litert import interpreter as litert
except ImportError as problem:
    litert = None
    print(f"LiteRT is not compared: {problem}")

try:
    from tflite_micro.python.tflite_micro import runtime as tflite_micro
except ImportError as problem:
    tflite_micro = None
    print(f"TFLite Micro is not compared: {problem}")

FOLDER = pathlib.Path(sys.argv[1])
del sys.argv[1:]
SPACES = ["cnn1d", "darts", "digits", "mlp", "mnist_cnn", "mobilenet", "nasbench201", "resnet", "vit"]
SMALL = ("kind_", "graph_", "edge_", "wiring_", "numbers_")
MOST_STEPS = 3  # behind the 15 cells of NAS-Bench-201: ONNX Runtime's own ways of computing differ by 2
FACTOR, OFFSET = 3, -0.5  # of the outputs, in drawn_models


class Counts:
    """How far outputs are from Skyline's."""

    def __init__(self):
        self.samples = self.answers = self.values = self.off = self.most = 0

    def add(self, got, expected, step):
        steps = numpy.rint(numpy.abs(got - expected) / step)
        self.samples += len(got)
        self.answers += int((got.argmax(1) != expected.argmax(1)).sum())
        self.values += steps.size
        self.off += int((steps > 0).sum())
        self.most = max(self.most, int(steps.max()))
        return steps

    def __str__(self):
        return (f"{self.answers} of {self.samples} answers differ, {self.off} of {self.values} outputs, "
                f"by at most {self.most} steps")


class Int8Runtimes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.names = sorted(path.name.removesuffix(".int8.onnx") for path in FOLDER.glob("*.int8.onnx"))

    def floats(self, name, ending):
        return numpy.fromfile(FOLDER / (name + ending), numpy.float32)

    def expected(self, name, samples):
        return self.floats(name, ".int8_outputs").reshape(samples, -1)

    def step(self, name):
        return self.floats(name, ".step")[0]

    def test_onnx_runtime_gives_the_same_answers(self):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.add_session_config_entry("session.x64quantprecision", "1")
        counts = Counts()
        for name in self.names:
            with self.subTest(name):
                path = FOLDER / (name + ".int8.onnx")
                model = onnx.load(path)
                onnx.checker.check_model(model, full_check=True)
                session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
                (boundary,) = session.get_inputs()
                inputs = self.floats(name, ".inputs").reshape(-1, *boundary.shape[1:])
                (outputs,) = session.run(None, {boundary.name: inputs})
                steps = counts.add(outputs, self.expected(name, len(inputs)), self.step(name))
                self.assertLessEqual(steps.max(), 1 if name.startswith(SMALL) else MOST_STEPS)
        print(f"ONNX Runtime {onnxruntime.__version__}, {len(self.names)} networks: {counts}")
        self.assertLessEqual(counts.answers, counts.samples / 1000)
        self.assertLessEqual(counts.off, counts.values / 100)

    @unittest.skipIf(litert is None, "no LiteRT for this Python")
    def test_litert_gives_nearly_the_same_answers(self):
        counts = Counts()
        networks = 0
        for name in self.names:
            if not (FOLDER / (name + ".tflite")).exists():
                continue
            with self.subTest(name):
                networks += 1
                got, expected = self.by_litert(name)
                steps = counts.add(got, expected, self.step(name))
                self.assertLessEqual(steps.max(), 2 if name.startswith(SMALL) else 3 * MOST_STEPS)
        print(f"LiteRT, {networks} networks: {counts}")
        self.assertLessEqual(counts.answers, counts.samples / 50)

    def litert_of(self, name):
        runtime = litert.Interpreter(
            str(FOLDER / (name + ".tflite")), num_threads=1,
            experimental_op_resolver_type=litert.OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES)
        runtime.allocate_tensors()
        return runtime

    def by_litert(self, name):
        runtime = self.litert_of(name)
        (source,), (result,) = runtime.get_input_details(), runtime.get_output_details()
        _, height, width, channels = source["shape"]
        images = self.floats(name, ".normalized").reshape(-1, channels, height, width).transpose(0, 2, 3, 1)
        scale, zero = source["quantization"]
        numbers = numpy.clip(numpy.rint(images / numpy.float32(scale)) + zero, -128, 127).astype(numpy.int8)
        scale, zero = result["quantization"]
        outputs = []
        for image in numbers:
            runtime.set_tensor(source["index"], image[None])
            runtime.invoke()
            output = runtime.get_tensor(result["index"])[0].transpose(2, 0, 1).reshape(-1)
            outputs.append(((output.astype(numpy.float32) - zero) * scale if scale else output) * FACTOR + OFFSET)
        return numpy.array(outputs), self.expected(name, len(images))

    @unittest.skipIf(tflite_micro is None, "no TFLite Micro for this Python")
    def test_the_arena_of_tflite_micro_is_the_promised_peak(self):
        for name in self.names:
            path = FOLDER / (name + ".tflite")
            if name.rpartition("_")[0] not in SPACES or not path.exists():
                continue
            with self.subTest(name):
                peak = int((FOLDER / (name + ".peak")).read_text())
                micro = tflite_micro.Interpreter.from_bytes(path.read_bytes(), arena_size=1 << 24)
                # Tensors begin at multiples of 16, and a mean has its sums in the arena, too.
                self.assertLess(self.arena_of(micro), 1.1 * peak + 64)

    def arena_of(self, micro):
        """The bytes of activations, from what the interpreter prints."""
        with tempfile.TemporaryFile() as printed:
            streams = [(stream, os.dup(stream)) for stream in (1, 2)]
            for stream, _ in streams:
                os.dup2(printed.fileno(), stream)
            try:
                micro.print_allocations()
            finally:
                for stream, kept in streams:
                    os.dup2(kept, stream)
                    os.close(kept)
            printed.seek(0)
            return int(re.search(r"head (\d+)", printed.read().decode())[1])

    def test_layers_that_stay_float_are_named(self):
        refused = {name: (FOLDER / (name + ".refused")).read_text()
                   for name in self.names if (FOLDER / (name + ".refused")).exists()}
        self.assertEqual(refused["kind_layer_norm_0"],
                         "int8: layer_norm_0 has no int8 kernel; leave it out, or take --format onnx-int8")
        for name, reason in refused.items():
            self.assertRegex(reason, r"^int8: \w+ (has no int8 kernel|pads as no int8 kernel does|"
                                     r"changes the shape as no int8 kernel does|"
                                     r"gives the output in float32, as no int8 kernel does); "
                                     r"leave it out, or take --format onnx-int8$", name)


if __name__ == "__main__":
    unittest.main()
