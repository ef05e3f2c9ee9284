"""Reads our files with tools that we did not write, as docs/internals/files.md tells its readers to."""

import contextlib
import hashlib
import io
import json
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import h5py
import numpy
import pandas
import xxhash

WRITER = sys.argv.pop(1)
DOCUMENTATION = Path(sys.argv.pop(1))


def checksum(data):
    return xxhash.xxh3_128_hexdigest(data)


# The members of a journal's line that say what was trained.
FIELDS = ("k", "phase", "arch", "origin", "iteration", "parents", "inherits", "epochs", "horizon", "members", "cost", "seed")


def table(path, name="trials"):
    frame = pandas.DataFrame(h5py.File(path)[name][:])
    for name in frame.columns[[value == object for value in frame.dtypes]]:
        frame[name] = frame[name].str.decode("utf-8")
    return frame


class Formats(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory(prefix="skyline-store-")
        cls.folder = Path(cls.scratch.name)
        subprocess.run([WRITER, cls.folder], check=True)
        lines = (cls.folder / "journal.jsonl").read_text().splitlines()
        cls.journal_lines = lines
        cls.journal = [json.loads(line) for line in lines]

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def test_journal_lines_carry_the_sum_of_the_text_before_it(self):
        for line in self.journal_lines:
            body, mark, end = line.rpartition(',"sum":"')
            self.assertTrue(mark)
            self.assertEqual(end, f'{checksum(body.encode())}"}}')

    def test_run_table_is_the_journal(self):
        frame = table(self.folder / "run.h5")
        entries = self.journal[1:]
        self.assertEqual(len(frame), len(entries))
        for row, entry in zip(frame.to_dict("records"), entries):
            self.assertEqual(row["number"], entry["k"])
            self.assertEqual(row["position"], entry["position"])
            self.assertEqual(row["continued_from"], entry.get("continues", -1))
            for name in ("phase", "origin", "iteration", "epochs", "horizon", "status"):
                self.assertEqual(row[name], entry[name])
            self.assertEqual(row["arch_id"], entry["arch"])
            self.assertEqual(row["seed"], int(entry["seed"]))
            self.assertEqual(row["cost"], int(entry["cost"]))
            self.assertEqual(row["reason"], entry.get("reason", ""))
            self.assertEqual(row["parents"], " ".join(map(str, entry["parents"])))
            inherits = entry.get("inherits", {"from": -1, "share": math.nan})
            self.assertEqual(row["inherited_from"], inherits["from"])
            numpy.testing.assert_equal(row["inherited_share"], inherits["share"])
            self.assertEqual(row["members"], entry.get("members", 1))
            self.assertEqual(row["repeat"], entry.get("repeat", 0))
            for name, value in entry["where"].items():
                self.assertEqual(row[name], value)
            for name in (metric["name"] for metric in self.journal[0]["metrics"]):
                value = float(entry.get("metrics", {}).get(name, "nan"))
                self.assertTrue(row[name] == value or math.isnan(row[name]) and math.isnan(value))
            genotype = dict(entry["genotype"], padding=str(entry["genotype"]["padding"]))
            for name, value in genotype.items():
                self.assertEqual(row[name], value)
        self.assertEqual(list(frame.index[frame.on_front]), [1, 6])  # positions of trials on the front
        self.assertTrue((frame.parameters > 0).all() and (frame.flops > 0).all())

    def test_run_table_has_types_that_pandas_can_work_with(self):
        types = table(self.folder / "run.h5").dtypes
        expected = {"number": "int64", "seed": "uint64", "depth": "int64", "bias": "bool", "epsilon": "float64",
                    "padding": "object", "latency_ms": "float64", "flops": "float64", "on_front": "bool"}
        self.assertEqual({name: str(types[name]) for name in expected}, expected)

    def test_run_file_holds_the_account_of_the_slots(self):
        slots = table(self.folder / "run.h5", "slots")
        self.assertEqual(slots.to_dict("records"),
                         [{"job": 1, "rank": 0, "slot": 0, "host": "node1", "processor": "", "program": "", "trials": 12, "setup_s": 0,
                           "train_s": 1.5, "validate_s": 0, "latency_s": 0, "wait_work_s": 0.5, "wait_device_s": 0, "wait_files_s": 0, "wait_ranks_s": 0},
                          {"job": 1, "rank": 2, "slot": 1, "host": "node17", "processor": "", "program": "", "trials": 0, "setup_s": 0,
                           "train_s": 0, "validate_s": 0, "latency_s": 0, "wait_work_s": 2, "wait_device_s": 0, "wait_files_s": 0, "wait_ranks_s": 0}])

    def test_run_file_says_what_it_is(self):
        attributes = h5py.File(self.folder / "run.h5").attrs
        self.assertEqual(attributes["format"], "skyline-run")
        self.assertEqual(attributes["version"], 8)
        self.assertRegex(attributes["skyline_version"], r"^\d+\.\d+\.\d+$")
        self.assertEqual(attributes["config"], "run: {seed: 1}\n")

    def test_parameters_with_names_of_other_columns_get_a_prefix(self):
        frame = table(self.folder / "taken_names.h5")
        self.assertLessEqual(set(frame.parameter_rank), {2.0, 4.5})
        self.assertLessEqual(set(frame.parameter_flops), {3, 4})
        self.assertLessEqual(set(frame.parameter_parameter_latency_ms), {1, 3})
        self.assertLessEqual(set(frame.parameter_latency_ms), {7, 8})
        self.assertLessEqual(set(frame["rank"]), {0, 1, 2})

    def test_dataset(self):
        file = h5py.File(self.folder / "dataset.h5")
        self.assertEqual(file.attrs["format"], "skyline-dataset")
        self.assertEqual([name.decode() for name in file["class_names"]], ["cat", "größte", "x"])
        images, labels = file["train/values"], file["train/targets"]
        self.assertEqual((images.shape, images.dtype), ((30, 2, 3, 5), numpy.uint8))
        self.assertEqual((labels.shape, labels.dtype), ((30,), numpy.int32))
        for array in (images, labels, file["test/values"], file["test/targets"]):
            self.assertEqual(array.attrs["sha256"], hashlib.sha256(array[:].tobytes()).hexdigest())
        scaled = images[:] / file.attrs["value_scale"]
        numpy.testing.assert_allclose(file["mean"], scaled.mean(axis=(0, 2, 3)))
        numpy.testing.assert_allclose(file["deviation"], scaled.std(axis=(0, 2, 3)))

    def test_weights(self):
        file = h5py.File(self.folder / "weights.h5")
        names = [name.decode() for name in file["tensor_names"]]
        self.assertEqual(names[:2], ["linear_0.weight", "conv2d_0.weight"])
        self.assertEqual(file["tensors/linear_0/weight"].shape, (2, 3))
        self.assertEqual(file["tensors/cell.node_1/bias"].shape, (0,))
        self.assertEqual(file["tensors/linear_0/weight"].dtype, numpy.float32)
        provenance = json.loads(file.attrs["provenance"])
        entry = dict(self.journal[1 + 5], k=41)
        self.assertEqual((provenance.pop("skyline_version"), provenance.pop("config_hash")), ("0.1.0", 64 * "c"))
        self.assertEqual(provenance, {name: entry[name] for name in FIELDS})
        self.assertEqual(file.attrs["trial"], entry["k"])
        self.assertEqual(file.attrs["genotype"], "depth=3 größe=5")

    def test_seal_holds_the_sum_of_the_file(self):
        data = (self.folder / "weights.h5").read_bytes()
        lines = data[:1024].decode().split("\n")
        self.assertEqual(lines[:3], ["skyline-sealed 3", "format skyline-weights", f"bytes {len(data)}"])
        self.assertEqual(lines[3], "structure " + checksum(data[1024:]))
        self.assertEqual(lines[4], "seal " + checksum("".join(f"{x}\n" for x in lines[:4]).encode()))

    def test_seal_of_a_data_set_names_its_arrays(self):
        data = (self.folder / "dataset.h5").read_bytes()
        lines = data[:1024].decode().split("\n")
        self.assertEqual(lines[0], "skyline-sealed 3")
        arrays = [line.split() for line in lines if line.startswith("array ")]
        self.assertEqual({array[1] for array in arrays},
                         {"train/values", "train/targets", "test/values", "test/targets"})
        rest, place = b"", 1024
        for _, _, offset, size, _ in arrays:
            rest += data[place:int(offset)]
            place = int(offset) + int(size)
        self.assertEqual(lines[3], "structure " + checksum(rest + data[place:]))
        for _, _, offset, size, digest in arrays:
            self.assertEqual(checksum(data[int(offset):int(offset) + int(size)]), digest)

    def put_files_where_the_documentation_has_them(self):
        places = {"dataset.h5": "data/mnist.h5", "journal.jsonl": "runs/mnist/journal.jsonl",
                  "run.h5": "runs/mnist/run.h5", "weights.h5": "runs/mnist/weights/17.h5",
                  "checkpoints/17.0.h5": "runs/mnist/checkpoints/17.0.h5",
                  "checkpoints/results.3.jsonl": "runs/mnist/checkpoints/results.3.jsonl",
                  "checkpoints/asked.jsonl": "runs/mnist/checkpoints/asked.jsonl"}
        for name, place in places.items():
            (self.folder / place).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(self.folder / name, self.folder / place)

    def test_examples_of_the_documentation_run(self):
        self.put_files_where_the_documentation_has_them()
        examples = re.findall(r"```python\n(.*?)```", DOCUMENTATION.read_text(encoding="utf-8"), re.DOTALL)
        self.assertEqual(len(examples), 4)
        before = os.getcwd()
        os.chdir(self.folder)
        try:
            results = {}
            with contextlib.redirect_stdout(io.StringIO()):
                for example in examples:
                    exec(example, results)
        finally:
            os.chdir(before)
        self.assertEqual(list(results["names"]), ["cat", "größte", "x"])
        self.assertEqual(results["kernel"].shape, (1, 2, 1, 1))
        self.assertEqual(len(results["state"]), 5)
        self.assertEqual(results["entry"]["k"], 9)
        self.assertEqual(results["step"], 1200)
        self.assertEqual(list(results["arrays"]), ["parameters", "momentum", "buffers"])
        self.assertEqual(list(results["numbers"])[:2], ["loss_sum", "best"])

    def test_shell_examples_of_the_documentation_run(self):
        self.put_files_where_the_documentation_has_them()
        commands = re.findall(r"^\$ ((?:h5dump|tail) .*)$", DOCUMENTATION.read_text(encoding="utf-8"), re.MULTILINE)
        self.assertEqual([command.split()[0] for command in commands],
                         ["tail", "h5dump", "h5dump", "h5dump", "h5dump", "tail", "tail"])
        for command in commands:
            done = subprocess.run(command, shell=True, cwd=self.folder, capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stderr), (0, ""), command)

    def test_checkpoints(self):
        file = h5py.File(self.folder / "checkpoints/17.0.h5")
        self.assertEqual(file.attrs["format"], "skyline-checkpoint")
        provenance = json.loads(file.attrs["provenance"])
        entry = dict(self.journal[1 + 2], k=17)
        self.assertEqual({name: provenance[name] for name in FIELDS}, {name: entry[name] for name in FIELDS})
        self.assertEqual(file.attrs["sequence"], 0)
        self.assertEqual((file["arrays/parameters"].dtype, file["arrays/parameters"].shape), (numpy.float32, (6,)))
        self.assertEqual(file["numbers"].dtype, numpy.float64)

    def test_waiting_results_are_lines_of_the_journal(self):
        journal = (self.folder / "journal.jsonl").read_text(encoding="utf-8").splitlines()
        results = (self.folder / "checkpoints/results.3.jsonl").read_text(encoding="utf-8").splitlines()
        self.assertEqual(results[0], journal[0])
        for line, committed in zip(results[1:], [journal[1 + 7], journal[1 + 11]], strict=True):
            expected = json.loads(committed)
            del expected["position"], expected["sum"]
            found = json.loads(line)
            del found["sum"]
            self.assertEqual(found, expected)


if __name__ == "__main__":
    unittest.main()
