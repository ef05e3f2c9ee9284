"""Brings the digits in as images and arrays of every kind: one command each gives the same pixels."""

import json
import os
import re
import socket
import struct
import subprocess
import sys
import unittest
import zlib

import h5py
import numpy

from skyline_runs import SOURCE, RunsCase

HOST = re.sub(r"[^A-Za-z0-9_.-]", "-", socket.gethostname())


def chunk(kind, content):
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def png(image):
    """@param image  uint8 [height, width] or [height, width, 3]"""
    rows = b"".join(b"\0" + row.tobytes() for row in image)
    header = struct.pack(">IIBBBBB", image.shape[1], image.shape[0], 8, 0 if image.ndim == 2 else 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def pgm(image):
    return b"P5 %d %d 255\n" % (image.shape[1], image.shape[0]) + image.tobytes()


def idx(array):
    return bytes([0, 0, 8, array.ndim]) + b"".join(struct.pack(">I", size) for size in array.shape) + array.tobytes()


class PrepTest(RunsCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        with h5py.File(cls.digits) as file:
            cls.parts = {part: (file[part]["values"][:], file[part]["targets"][:]) for part in ("train", "test")}

    def prepared(self, *arguments, name="set.h5"):
        done = self.skyline("prep", *arguments, "--force", "--out", name)
        with h5py.File(self.folder / name) as file:
            return done.stdout + done.stderr, {part: (file[part]["values"][:], file[part]["targets"][:])
                                               for part in ("train", "validation", "test")}

    def check(self, parts, by_class=False):
        for part, (values, targets) in self.parts.items():
            order = numpy.argsort(targets, kind="stable") if by_class else slice(None)
            self.assertTrue(numpy.array_equal(parts[part][0], values[order]), part)
            self.assertTrue(numpy.array_equal(parts[part][1], targets[order]), part)

    def arrays(self):
        return {"x_train": self.parts["train"][0], "y_train": self.parts["train"][1], "x_test": self.parts["test"][0],
                "y_test": self.parts["test"][1]}

    def test_images_of_a_folder_have_the_same_pixels(self):
        for encode in (png, pgm):
            folder = self.folder / encode.__name__
            for part, (values, targets) in self.parts.items():
                for i, (image, label) in enumerate(zip(values, targets)):
                    path = folder / part / str(label) / f"{i:05}.{encode.__name__}"
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_bytes(encode(image[0]))
            said, parts = self.prepared("images", folder)
            self.check(parts, by_class=True)
            self.assertIn("set.h5: 1442 training and 355 test samples of 1x8x8, 10 classes", said)
            self.assertRegex(said, r"^class +train +test\n(.*\n)+7 +\d+ +\d+\n")

    def test_arrays_have_the_same_pixels(self):
        arrays = self.arrays()
        for save in (numpy.savez, numpy.savez_compressed):
            save(self.folder / "digits.npz", **arrays)
            self.check(self.prepared("arrays", "digits.npz")[1])
        with h5py.File(self.folder / "plain.h5", "w") as file:
            for name, array in arrays.items():
                file.create_dataset(name, data=array, chunks=True, compression="gzip")
        self.check(self.prepared("arrays", "plain.h5")[1])
        last = {name: numpy.ascontiguousarray(array.transpose(0, 2, 3, 1)) if name[0] == "x" else array
                for name, array in arrays.items()}
        numpy.savez(self.folder / "last.npz", **last)
        self.check(self.prepared("arrays", "last.npz", "--layout", "nhwc")[1])

    def test_csv_and_idx_files_have_the_same_pixels(self):
        files = []
        for part, (values, targets) in self.parts.items():
            table = numpy.column_stack([targets, values.reshape(len(values), -1)])
            numpy.savetxt(self.folder / f"{part}.csv", table, fmt="%d", delimiter=",", comments="",
                          header=",".join(["label", *(f"pixel{i}" for i in range(64))]))
            files.append(f"{part}.csv")
        self.check(self.prepared("arrays", *files, "--label", "label", "--shape", "1x8x8")[1])
        options = []
        for name, array in self.arrays().items():
            (self.folder / f"{name}.idx").write_bytes(idx(array.squeeze().astype("uint8")))
            options += [f"--{name.replace('_', '-')}", f"{name}.idx"]
        self.check(self.prepared("arrays", *(f"{name}.idx" for name in self.arrays()), *options, "--layout", "nhw")[1])

    def test_a_file_of_ten_lines_of_h5py_is_searched_and_known_by_its_sums(self):
        page = (SOURCE / "docs/data.md").read_text()
        script = page.split("```python\n", 1)[1].split("```", 1)[0]
        numpy.savez(self.folder / "mine.npz", **self.arrays())
        subprocess.run([sys.executable, "-c", script], cwd=self.folder, check=True)
        validate = ("validate", SOURCE / "configs/digits.yaml", "--set", "data.file=mine.h5", "--resolved")
        said = self.skyline(*validate).stdout
        self.assertIn("1442 training", said)
        seal = self.folder / "mine.h5.seal"
        first = seal.read_bytes()
        with h5py.File(self.digits) as file:
            numpy.testing.assert_allclose(json.loads(first)["mean"], file["mean"][:] * 16 / 255)
        self.assertEqual(self.skyline(*validate).stdout, said, "known by its sums")
        seal.unlink()
        self.assertEqual(self.skyline(*validate).stdout, said, "checked again")
        strange = json.loads(first)
        strange["arrays"][0]["offset"] = 2**62
        seal.write_text(json.dumps(strange))
        self.assertEqual(self.skyline(*validate).stdout, said, "what lies outside is not believed")
        with h5py.File(self.folder / "mine.h5", "a") as file:
            file["train/values"][3, 0, 2, 2] = 200
        self.assertNotEqual(self.skyline(*validate).stdout, said, "another content is another data set")
        for groups, message in ((numpy.zeros(7), "mine.h5: train/groups: expected 1442 numbers, one for each sample"),
                                (numpy.zeros(1442), "groups: expected at least 2, one for each part, got 1")):
            with h5py.File(self.folder / "mine.h5", "a") as file:
                file["train/groups"] = groups.astype("int32")
            self.assertIn(message, self.skyline(*validate, expect=2).stderr)
            with h5py.File(self.folder / "mine.h5", "a") as file:
                del file["train/groups"]
        with h5py.File(self.folder / "mine.h5", "a") as file:
            file.attrs["split"] = "first"
        self.assertIn("mine.h5: attribute `split`: expected `last`, got `first`", self.skyline(*validate, expect=2).stderr)
        with h5py.File(self.folder / "mine.h5", "a") as file:
            del file.attrs["split"]
        with h5py.File(self.folder / "mine.h5", "a") as file:
            file["train/targets"][5] = 10
        self.assertIn("mine.h5: train class number 5: expected 0 to 9, got 10", self.skyline(*validate, expect=2).stderr)
        with h5py.File(self.folder / "mine.h5", "a") as file:
            for name in ("train/values", "train/targets"):
                empty = file[name][:0]
                del file[name]
                file[name] = empty
        self.assertIn("mine.h5: the training set is empty", self.skyline(*validate, expect=2).stderr)

    def test_hdf5_files_of_others_are_read_or_named_by_array_and_way_out(self):
        images, labels = self.parts["train"][0][:40], self.parts["train"][1][:40]
        words = numpy.array(["even", "odd"])[labels % 2]
        with h5py.File(self.folder / "theirs.h5", "w") as file:
            file["x"] = images
            file["links/x_train"] = h5py.SoftLink("/x")
            file["links/again"] = h5py.SoftLink("/")
            file["nowhere"] = h5py.SoftLink("/missing")
            file["outside"] = h5py.ExternalLink("others.h5", "/x")
            file.create_dataset("lzf", data=images, compression="lzf", chunks=True)
            file["variable"] = words.tolist()
            file["bytes"] = words.astype("S")
            file.create_dataset("fixed", data=words.tolist(), dtype=h5py.string_dtype("utf-8", 9))
            matlab = file.create_dataset("matlab", data=images.transpose())
            matlab.attrs["MATLAB_class"] = numpy.bytes_("uint8")
            column = file.create_dataset("column", data=labels.reshape(1, 40))
            column.attrs["MATLAB_class"] = numpy.bytes_("double")
            letters = numpy.array([[ord(letter) for letter in word.ljust(4)] for word in words], "uint16")
            for name, values, kind in (("letters", letters, "char"), ("strings", numpy.zeros((6, 1), "uint32"), "string"),
                                       ("cells", numpy.zeros((40, 1), "uint8"), "cell")):
                array = file.create_dataset(name, data=values.transpose())
                array.attrs["MATLAB_class"] = numpy.bytes_(kind)
        for targets in ("variable", "bytes", "fixed"):
            with self.subTest(targets):
                told, parts = self.prepared("arrays", "theirs.h5", "--x-train", "links/x_train", "--y-train", targets, "--test", 0)
                self.assertTrue(numpy.array_equal(parts["train"][0], images))
                self.assertTrue(numpy.array_equal(parts["train"][1], labels % 2))
                self.assertIn("40 training and 0 test samples of 1x8x8, 2 classes", told)
        told, parts = self.prepared("arrays", "theirs.h5", "--x-train", "matlab", "--y-train", "column", "--test", 0)
        self.assertTrue(numpy.array_equal(parts["train"][0], images))
        self.assertTrue(numpy.array_equal(parts["train"][1], labels))
        self.assertIn("theirs.h5: matlab: written by MATLAB, its dimensions are read in reverse", told)
        told, parts = self.prepared("arrays", "theirs.h5", "--x-train", "matlab", "--y-train", "letters", "--test", 0)
        self.assertTrue(numpy.array_equal(parts["train"][1], labels % 2))
        self.assertRegex(told, r"\neven +\d+")
        for name in ("string", "cell"):
            refusal = self.skyline("prep", "arrays", "theirs.h5", "--x-train", "x", "--y-train", name + "s", "-o", "no.h5",
                                   expect=2).stderr
            self.assertIn(f"{name}s: MATLAB's class `{name}`, expected numbers or words: save words as char(y)", refusal)
        self.assertTrue(numpy.array_equal(self.prepared("arrays", "theirs.h5", "--x-train", "lzf", "--y-train", "variable", "--test",
                                                        0)[1]["train"][0], images))
        for name, message in (("nowhere", "a link that leads nowhere"), ("outside", "a link to another file: copy the array into this")):
            self.assertIn(f"theirs.h5: {name}: {message}",
                          self.skyline("prep", "arrays", "theirs.h5", "--x-train", name, "--y-train", "variable", "-o",
                                       "refused.h5", expect=2).stderr)

    def test_a_file_of_ones_own_may_have_texts_of_every_kind(self):
        names = [f"digit {i}" for i in range(10)]
        kinds = {"variable": (names, h5py.string_dtype()), "ascii": (names, h5py.string_dtype("ascii")),
                 "bytes": (numpy.array(names, "S20"), None), "fixed": (names, h5py.string_dtype("utf-8", 20))}
        for name, (texts, kind) in kinds.items():
            with self.subTest(name):
                with h5py.File(self.folder / "texts.h5", "w") as file:
                    file.attrs.update(format=numpy.bytes_("skyline-dataset") if name == "bytes" else "skyline-dataset",
                                      version=2, value_scale=16.0)
                    file.create_dataset("class_names", data=texts, dtype=kind)
                    for part, (values, targets) in self.parts.items():
                        file[part + "/values"], file[part + "/targets"] = values, targets
                self.assertIn("1442 training", self.skyline("validate", SOURCE / "configs/digits.yaml", "--set",
                                                            "data.file=texts.h5").stdout)
        with h5py.File(self.folder / "texts.h5", "a") as file:
            targets = file["train/targets"][:].astype("int64")
            del file["train/targets"]
            file["train/targets"] = targets
        (self.folder / "texts.h5.seal").unlink(missing_ok=True)
        validate = ("validate", SOURCE / "configs/digits.yaml", "--set", "data.file=texts.h5")
        self.assertIn("texts.h5: train/targets: expected int32 for classes, uint8 for labels or float32 for numbers",
                      self.skyline(*validate, expect=2).stderr)
        with h5py.File(self.folder / "texts.h5", "a") as file:
            del file["class_names"]
            file["class_names"] = numpy.arange(10)
        self.assertIn("texts.h5: array `class_names`: expected texts", self.skyline(*validate, expect=2).stderr)

    def test_a_window_that_is_larger_than_its_input_is_told_by_validate(self):
        numpy.savez(self.folder / "signals.npz", x_train=numpy.random.default_rng(1).normal(size=(40, 50)).astype("float32"),
                    y_train=numpy.arange(40) % 2)
        (self.folder / "signals.yaml").write_text(
            "data: {file: signals.h5}\nspace:\n  parameters: {width: {choice: [4, 8]}}\n  network:\n"
            "    - conv1d: {channels: $width, kernel: 15}\n    - global_average_pool\n    - linear: {features: $classes}\n"
            "training: {epochs: 1}\nobjectives: [maximize: validation_accuracy]\nsearch: {algorithm: random, trials: 3}\n")
        doubt = r"# space: in \d+ of \d+ random architectures? a window is larger than its input, .*: conv1d_0 has a window of 15 over 1x1"
        for layout, expected in (("nf", self.assertRegex), ("nl", self.assertNotRegex)):
            self.prepared("arrays", "signals.npz", "--layout", layout, name="signals.h5")
            expected(self.skyline("validate", "signals.yaml").stdout, doubt)
        for kernel, expected in ((99, self.assertNotRegex), (101, self.assertRegex)):  # each of 99 weights meets one of 50 steps
            expected(self.skyline("validate", "signals.yaml", "--set", f"space.network=[{{conv1d: {{channels: $width, kernel: {kernel}}}}}, "
                                  "global_average_pool, {linear: {features: $classes}}]").stdout, "a window is larger than its input")

    def test_tables_as_pandas_hands_them_over_are_read(self):
        values = self.parts["train"][0][:40].reshape(40, 64)[:, 20:30].astype("float64")
        numpy.savez(self.folder / "frame.npz", x_train=numpy.asfortranarray(values), y_train=numpy.array(["b", "a"] * 20))
        told, parts = self.prepared("arrays", "frame.npz", "--test", 0)
        self.assertTrue(numpy.array_equal(parts["train"][0].reshape(40, 10), values))
        self.assertTrue(numpy.array_equal(parts["train"][1], [1, 0] * 20))

    def refused(self, *arguments):
        done = self.skyline("prep", *arguments, "--out", "refused.h5", expect=2)
        self.assertEqual(len(done.stderr.strip().splitlines()), 1, done.stderr)
        self.assertFalse((self.folder / "refused.h5").exists())
        return done.stderr

    def test_classes_that_differ_in_capitals_alone_are_told_of(self):
        rows = "".join(f"{i}.5,{('pos', 'neg', 'Pos')[i % 3]}\n" for i in range(30))
        (self.folder / "capitals.csv").write_text("a,label\n" + rows)
        told = self.skyline("prep", "arrays", "capitals.csv", "-o", "capitals.h5")
        self.assertIn("check: classes `Pos` and `pos` differ in capitals alone\n", told.stdout)

    def test_what_is_there_is_overwritten_only_by_force(self):
        made = self.folder / "made.h5"
        self.skyline("prep", "digits", "-o", made)
        before = made.read_bytes()
        refused = self.skyline("prep", "digits", "-o", made, expect=2)
        self.assertIn(f"{made}: exists already (--force overwrites it)", refused.stderr)
        left = self.folder / f"made.h5.tmp.{HOST}.4194305.0"  # file of a killed process: no such id exists
        left.touch()
        self.skyline("prep", "digits", "-o", made, "--force")
        self.assertEqual(made.read_bytes(), before, "the same input gives the same bytes")
        self.assertFalse(left.exists())
        numpy.savez(self.folder / "mine.npz", **self.arrays())
        refused = self.skyline("prep", "arrays", "mine.npz", "-o", "./mine.npz", "--force", expect=2)
        self.assertIn("mine.npz: is the source, too: name another file by --out", refused.stderr)
        for folder in (".", "elsewhere/"):
            self.assertIn(": a folder, expected the name of a file, e.g. ", self.skyline(
                "prep", "digits", "-o", folder, "--force", expect=2).stderr)

    def test_pipes_and_devices_are_never_replaced(self):
        pipe = self.folder / "pipe"
        os.mkfifo(pipe)
        refused = self.skyline("prep", "digits", "-o", pipe, "--force", expect=2)
        self.assertIn("pipe: a folder, a pipe or a device, expected the name of a file", refused.stderr)
        self.assertTrue(pipe.is_fifo())

    def test_mistakes_on_the_command_line_are_named(self):
        self.assertIn("prep images: missing FOLDER", self.refused("images"))
        self.assertIn("prep images: expected one FOLDER, got 2", self.refused("images", "a", "b"))
        self.assertIn("--size: expected a number of pixels up to 32768, HEIGHTxWIDTH, or auto, got big", self.refused("images", ".", "--size", "big"))
        self.assertIn("--fit: expected `resize` or `crop`, got squeeze", self.refused("images", ".", "--fit", "squeeze"))

    def test_data_are_looked_for_beside_the_configuration_and_missing_ones_are_explained(self):
        beside = self.folder / "elsewhere"
        (beside / "data").mkdir(parents=True)
        config = beside / "digits.yaml"
        config.write_bytes((SOURCE / "configs/digits.yaml").read_bytes())
        missing = self.skyline("validate", config, expect=2)
        self.assertRegex(missing.stderr, r"elsewhere/digits.yaml:4:9: data.file: there is no data/digits.h5, nor is it beside the "
                         r"configuration; make it, e.g.: skyline prep digits -o data/digits.h5\n")
        self.digits.rename(beside / "data/digits.h5")
        try:
            self.assertIn("elsewhere/data/digits.h5", self.skyline("validate", config).stdout)
        finally:
            (beside / "data/digits.h5").rename(self.digits)


if __name__ == "__main__":
    unittest.main()
